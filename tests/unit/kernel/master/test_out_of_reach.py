"""A Topology Master whose state tree is out of reach while it acts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.tasks.distant import DistantState
from support.tasks.puppets import TREE, Conductor, Crew, proposal, submitted

from heronpy.kernel.config import Config
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.update import Update


@pytest.fixture
def distant(config: Config) -> Iterator[DistantState]:
    manager = DistantState()
    manager.initialize(config)
    yield manager
    manager.out_of_reach = False
    manager.close()


def out_of_reach(conductor: Conductor, distant: DistantState, seconds: float) -> None:
    """What a master does meanwhile: it hears of everybody and would act."""
    distant.out_of_reach = True
    for _ in range(int(10 * seconds)):
        conductor.now += 0.1
        for beat in conductor.crew.beats():
            conductor.master_state.roster.on_container(beat)
        conductor.coordinator.look(conductor.now)
    distant.come_back()


@pytest.mark.parametrize("turns", [5, 11, 12, 13])
def test_checkpoints_go_on_where_they_were_whenever_the_tree_was_away(
    state: StateManager, distant: DistantState, config: Config, turns: int
) -> None:
    submitted(state, "effectively_once")
    conductor = Conductor(distant, config, Crew(state, config))
    for _ in range(turns):
        conductor.turn()
    out_of_reach(conductor, distant, 3.0)
    before = len(conductor.master_state.node.complete)
    conductor.until(lambda: len(conductor.master_state.node.complete) > before)
    assert conductor.master_state.node.run == 1, "nobody died, so nothing is restored"


@pytest.mark.parametrize("turns", range(1, 12))
def test_an_update_goes_on_where_it_was_whenever_the_tree_was_away(
    state: StateManager, distant: DistantState, config: Config, turns: int
) -> None:
    submitted(state, "at_least_once")
    conductor = Conductor(distant, config, Crew(state, config))
    conductor.turn()
    state.create(TREE.update, proposal(2, 3, 4).to_json())
    for _ in range(turns):
        conductor.turn()
    out_of_reach(conductor, distant, 1.0)

    def phase() -> str:
        return Update.from_json(state.get(TREE.update).value).phase

    conductor.until(lambda: phase() in ("done", "rolled_back"))
    assert phase() == "done"


def test_a_tree_that_takes_no_writes_is_what_status_says_until_it_does(
    state: StateManager, distant: DistantState, config: Config
) -> None:
    submitted(state, "effectively_once")
    conductor = Conductor(distant, config, Crew(state, config))
    conductor.until(lambda: len(conductor.master_state.node.complete) == 1)
    assert conductor.coordinator.trouble == ""
    out_of_reach(conductor, distant, 3.0)
    assert "out of reach" in conductor.coordinator.trouble
    conductor.until(lambda: conductor.master_state.node.complete[-1].id == 6)
    assert conductor.coordinator.trouble == ""
