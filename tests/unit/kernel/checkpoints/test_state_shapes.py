"""Whether steps can go on with state that older code has saved, and the line that says why not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from heronpy.kernel.checkpoints.state_shapes import reshaped
from heronpy.kernel.plans import StateShape

SEEN = StateShape("class Seen", {"count": "int", "last": "str"}, ("last",))
SUM = StateShape("aggregate sum")


def shape(*defaults: str, ordered: bool = False, **fields: str) -> StateShape:
    return StateShape("class Seen", fields, defaults, ordered=ordered)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({}, {"seen": SEEN}),  # an older checkpoint says nothing of shapes
        ({"seen": SEEN}, {"seen": SEEN}),
        ({"seen": SEEN}, {"seen": shape("last", "new", new="int", count="int", last="str")}),
        ({"seen": shape(count="int")}, {"seen": shape("new", count="int", new="int", ordered=True)}),
        ({"seen": SEEN, "sum": SUM}, {"sum": SUM, "seen": SEEN, "first": StateShape("dedup")}),
    ],
)
def test_what_old_state_allows(before: Mapping[str, StateShape], now: Mapping[str, StateShape]) -> None:
    assert reshaped(before, now) == ""


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (
            {"seem": SEEN},
            "state of step 'seen', which the pipeline does not have; did you mean 'seem'?",
        ),
        ({"seen": SUM}, "state of step 'seen' by class Seen, and now it is aggregate sum"),
        (
            {"seen": shape("latest", count="int", latest="str")},
            "state of step 'seen' with the field 'last' of class Seen, which the class no longer has;"
            " did you mean 'latest'?",
        ),
        (
            {"seen": shape("last", count="float", last="str")},
            "state of step 'seen' with the field 'count' of class Seen as int, and now it is float",
        ),
        (
            {"seen": shape("last", count="int", last="str", new="int")},
            "state of step 'seen' without the field 'new' of class Seen, which has no default",
        ),
        (
            {"seen": shape("last", "new", count="int", new="int", last="str", ordered=True)},
            "state of step 'seen' without the field 'new' of class Seen: a new field of this class must"
            " be its last",
        ),
        (
            {"seen": SEEN, "first": StateShape("dedup")},
            "state of step 'seen' alone, and now 'first' reads by the same key_by: give it one of its own",
        ),
    ],
)
def test_what_it_does_not(now: Mapping[str, StateShape], reason: str) -> None:
    assert reshaped({"seen": SEEN}, now) == reason


def test_a_shape_outlives_its_json() -> None:
    saved = msgspec.json.decode(msgspec.json.encode(SEEN), type=StateShape)
    assert (saved, list(saved.fields)) == (SEEN, ["count", "last"])
