"""A command right behind the restart of a Topology Master waits for the successor, and says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from heronpy.cli.reading import topologies
from heronpy.kernel.config import load_config
from heronpy.kernel.plugin import StateManager, opening
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.paths import Tree

SHOP = Tree("Shop")


class Successor:
    """Registers with the third question, and answers from then on."""

    def __init__(self, state: StateManager, topology: str) -> None:
        self._state = state
        self._asked = 0

    def status(self, timeout: float) -> TopologyStatus:
        self._asked += 1
        if self._asked < 3:
            return TopologyStatus(
                name="Shop", state="UNREACHABLE", reason="the topology master does not answer"
            )
        return TopologyStatus(name="Shop", state="RUNNING")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateManager]:
    monkeypatch.setattr(topologies, "MasterClient", Successor)
    monkeypatch.setattr(topologies, "MOMENT", 0.0)
    monkeypatch.setattr(topologies, "ASK_EVERY", 0.0)
    state = opening.open_state(load_config(environ={}, flags={"home": str(tmp_path)}))
    state.set(SHOP.root, b"")
    yield state
    state.close()


def test_a_master_that_is_being_started_is_waited_for(
    state: StateManager, capsys: pytest.CaptureFixture[str]
) -> None:
    assert topologies.settled_status(state, "Shop").state == "RUNNING"
    assert capsys.readouterr().err == (
        "waiting for the topology master of Shop: the topology master does not answer\n"
    )


def test_one_that_has_just_come_has_its_moment(state: StateManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a while until those that run have reported to a new master: that is no topology to refuse."""
    states = iter(["UNREACHABLE", "UNREACHABLE", "UNREACHABLE", "STARTING", "STARTING", "RUNNING"])

    def status(_: Successor, timeout: float) -> TopologyStatus:
        time.sleep(0.1)
        return TopologyStatus(name="Shop", state=next(states))

    monkeypatch.setattr(Successor, "status", status)
    monkeypatch.setattr(topologies, "MOMENT", 0.2)
    assert topologies.settled_status(state, "Shop").state == "RUNNING"


@pytest.mark.parametrize(
    "known",
    [
        lambda state: state.set(SHOP.master, b"{}"),
        lambda state: state.set(SHOP.given_up(0), b"given up"),
    ],
    ids=["one that is there and does not answer", "one that was given up"],
)
def test_only_a_start_is_waited_for(state: StateManager, known: Callable[[StateManager], None]) -> None:
    known(state)
    assert topologies.settled_status(state, "Shop").state == "UNREACHABLE"
