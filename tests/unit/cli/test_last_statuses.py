"""A run that has finished says what it has done, also where a process died just then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from heronpy.cli.submitting import foreground
from heronpy.cli.submitting.foreground import last_statuses
from heronpy.cli.views.status_view import totals
from heronpy.kernel.status import InstanceStatus, TopologyStatus

INSTANCE = InstanceStatus(
    task=1, component="words", index=0, container=1, kind="spout", state="running", emitted=9
)


def answering(*states: str) -> Any:
    """One topology that answers so in turn, and at last again and again; beside one that runs on."""
    left = list(states)

    def statuses() -> list[TopologyStatus]:
        state = left.pop(0) if len(left) > 1 else left[0]
        instances = () if state == "UNREACHABLE" else (INSTANCE,)
        ended = TopologyStatus(name="ended", state=state, instances=instances)
        return [ended, TopologyStatus(name="endless", state="RUNNING")]

    return SimpleNamespace(statuses=statuses)


@pytest.mark.parametrize("states", [["FINISHED"], ["UNREACHABLE", "DEGRADED", "FINISHED"]])
def test_totals_are_those_of_a_master_that_answers(states: list[str]) -> None:
    (status,) = last_statuses(answering(*states), {"ended"})
    assert totals(status) == "ended FINISHED: words emitted 9"


def test_a_topology_that_does_not_come_back_has_finished_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foreground, "LAST_WORD", 0.0)
    (status,) = last_statuses(answering("DEGRADED"), {"ended"})
    assert totals(status) == "ended FINISHED: words emitted 9"
    assert last_statuses(answering("DEGRADED"), set()) == []
