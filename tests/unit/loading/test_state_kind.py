"""What submit finds out about the state of a component, from its class alone."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy import Bolt, Spout
from heronpy.kernel.plans import Component, Grouping, Input
from heronpy.loading.state_kind import state_kind
from heronpy.state import StatefulComponent

BY_WORD = (Input("words", "default", Grouping("fields", ("word",))),)
SHUFFLED = (Input("words", "default", Grouping("shuffle")),)


class Counts(Bolt):
    def process(self, tup: Any) -> None:
        def add() -> None:
            self.state[tup.word] = self.state.get(tup.word, 0) + 1

        add()


class Inherits(Counts):
    pass


class Plain(Bolt):
    def process(self, tup: Any) -> None:
        self.counts = {tup.state: 1}


class Own(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.state = {}

    def process(self, tup: Any) -> None:
        self.state[tup.word] = 1


class Opaque(Bolt, StatefulComponent):
    pass


class Keyed(Opaque):
    keyed = True


class Reads(Spout):
    def next_tuple(self) -> None:
        self.state["a"] = 1


@pytest.mark.parametrize(
    ("cls", "inputs", "kind"),
    [
        (Counts, BY_WORD, "keyed"),
        (Counts, SHUFFLED, "opaque"),
        (Inherits, BY_WORD, "keyed"),
        (Own, BY_WORD, "none"),
        (Opaque, BY_WORD, "opaque"),
        (Keyed, BY_WORD, "keyed"),
        (Keyed, SHUFFLED, "opaque"),
    ],
)
def test_a_bolt(cls: type[Any], inputs: tuple[Input, ...], kind: str) -> None:
    assert state_kind(Component("count", "bolt", "m.C", 1, inputs), cls) == kind


def test_an_attribute_of_the_tuple_may_be_taken_for_it() -> None:
    """`tup.state` looks the same in the bytecode: rather a question too few than a refusal too many."""
    assert state_kind(Component("count", "bolt", "m.C", 1, BY_WORD), Plain) == "keyed"


@pytest.mark.parametrize(("splits", "kind"), [((), "opaque"), (("a", "b"), "keyed")])
def test_a_spout(splits: tuple[str, ...], kind: str) -> None:
    assert state_kind(Component("reads", "spout", "m.R", 1, splits=splits), Reads) == kind
