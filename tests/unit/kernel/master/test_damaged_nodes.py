"""A damaged node: a master that lives writes it again, and a new one finds out what it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from support.faults.damage import DISK_DAMAGES, damage_node, value_file
from support.tasks.puppets import TREE, Conductor, Crew, proposal, submitted

from heronpy.kernel.checkpoints.decision import Decision
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.protocol import InstanceBeat
from heronpy.kernel.tree.paths import PAUSED, Live

TRUTH = (
    "execution",
    "definition",
    "packing_plan",
    "physical_plan",
    "next_plan",
    "checkpoints",
    "update",
    "live",
)
#: those that a master cannot do without and that nothing else says
NEEDED = ("execution", "packing_plan")


def at_work(state: StateManager, config: Config) -> Conductor:
    """A topology that was scaled to three counters, is paused, and has two checkpoints since."""
    submitted(state, "effectively_once")
    state.set(TREE.live, NODE.encode(Live(PAUSED, {}, 3)))
    conductor = Conductor(state, config, Crew(state, config))
    conductor.until(lambda: conductor.master_state.node.run == 1)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(
        lambda: conductor.master_state.plan.epoch == 2 and conductor.master_state.updating is None
    )
    newest = conductor.master_state.node.started
    conductor.until(
        lambda: (
            bool(conductor.master_state.node.complete)
            and conductor.master_state.node.complete[-1].id > newest
        )
    )
    return conductor


def values(state: StateManager) -> dict[str, bytes]:
    return {name: state.get(f"{TREE.root}/{name}").value for name in TRUTH}


@pytest.mark.parametrize("kind", DISK_DAMAGES)
def test_a_master_that_lives_writes_every_node_again_and_says_so(
    state: StateManager, config: Config, tmp_path: Path, kind: str
) -> None:
    conductor = at_work(state, config)
    before = values(state)
    for name in TRUTH:
        damage_node(tmp_path, f"{TREE.root}/{name}", kind)
    conductor.master_state.mend()
    after = values(state)
    assert {**after, "next_plan": b""} == {**before, "next_plan": b""}
    assert len(conductor.master_state.mender.mended) == 5, "the newest ones"
    run, newest = conductor.master_state.node.run, conductor.master_state.node.complete[-1].id
    conductor.until(lambda: conductor.master_state.node.complete[-1].id > newest)
    assert conductor.master_state.node.run == run, "nobody had to go back"


@pytest.mark.parametrize("kind", DISK_DAMAGES)
@pytest.mark.parametrize("name", [name for name in TRUTH if name not in NEEDED])
def test_a_new_master_finds_out_what_a_damaged_node_said(
    state: StateManager, config: Config, tmp_path: Path, name: str, kind: str
) -> None:
    first = at_work(state, config)
    before, node = values(state), first.master_state.node
    damage_node(tmp_path, f"{TREE.root}/{name}", kind)
    second = Conductor(state, config, first.crew, incarnation=2)
    second.turn()
    second.turn()
    second.master_state.mend()
    after = second.master_state.node
    assert [ref.id for ref in after.complete] == [ref.id for ref in node.complete]
    assert after.number > node.number
    if name == "checkpoints":
        assert (after.run, after.base) == (node.run + 1, node.complete[-1])
        because = "the node checkpoints was damaged and was rebuilt from the checkpoint store"
        assert after.because == because
        told = second.coordinator.checkpoint_status(second.now).fell_back
        assert told == f"went back to checkpoint {node.complete[-1].id}: {because}"
    else:
        assert (after.run, after.members) == (node.run, node.members)
    if name in ("definition", "physical_plan"):
        assert second.master_state.plan.tasks == first.master_state.plan.tasks
        assert values(state)["physical_plan"] == before["physical_plan"]
    second.until(lambda: second.master_state.node.complete[-1].id > node.complete[-1].id)
    third = Conductor(state, config, first.crew, incarnation=3)
    third.turn()
    told = third.coordinator.checkpoint_status(third.now).fell_back
    assert bool(told) == (name == "checkpoints"), "it outlives the master that did it"


@pytest.mark.parametrize("name", NEEDED)
def test_what_nobody_else_says_a_new_master_waits_for(
    state: StateManager, config: Config, tmp_path: Path, name: str
) -> None:
    first = at_work(state, config)
    damage_node(tmp_path, TREE.physical_plan, "emptied")
    whole = damage_node(tmp_path, f"{TREE.root}/{name}", "one bit flipped")
    with pytest.raises(DamagedNode, match=f"the node /words/{name} of the state tree is damaged"):
        Conductor(state, config, first.crew, incarnation=2)
    value_file(tmp_path, f"{TREE.root}/{name}").write_bytes(whole)
    second = Conductor(state, config, first.crew, incarnation=2)
    assert second.master_state.plan == first.master_state.plan


def test_a_manifest_that_was_never_completed_is_not_rebuilt(
    state: StateManager, config: Config, tmp_path: Path
) -> None:
    conductor = at_work(state, config)
    newest = conductor.master_state.node.complete[-1]
    store = conductor.crew.store
    beyond = newest.manifest.replace(f"/{newest.id}/", f"/{newest.id + 1}/")
    store.write(beyond, [store.read(newest.manifest)])
    conductor.crew.incarnations[2] = 2
    conductor.turn()
    assert conductor.master_state.node.base == newest
    assert beyond not in store.names("")
    damage_node(tmp_path, TREE.checkpoints, "emptied")
    second = Conductor(state, config, conductor.crew, incarnation=2)
    second.turn()
    assert second.master_state.node.complete[-1] == newest


def test_the_node_is_not_rebuilt_before_all_tasks_are_heard_nor_over_a_repaired_one(
    state: StateManager, config: Config, tmp_path: Path
) -> None:
    first = at_work(state, config)
    node = first.master_state.node
    whole = damage_node(tmp_path, TREE.checkpoints, "cut in half")
    first.crew.dead = {3}
    second = Conductor(state, config, first.crew, incarnation=2)
    for _ in range(5):
        second.turn()
    assert second.coordinator.trouble.endswith(
        "it is rebuilt from the checkpoint store: waiting for count[1]"
    )
    with pytest.raises(DamagedNode):
        state.get(TREE.checkpoints)
    value_file(tmp_path, TREE.checkpoints).write_bytes(whole)
    first.crew.dead = set()
    second.turn()
    assert (second.master_state.node.run, second.coordinator.trouble) == (node.run, "")


def commits(number: int) -> Callable[[InstanceBeat], None]:
    def twist(beat: InstanceBeat) -> None:
        if beat.task == 2 and beat.snapshot.id:
            beat.snapshot.transactions = number

    return twist


def saved(state: StateManager, config: Config, transactions: int) -> Conductor:
    """Three checkpoints, each with so many transactions; the newest is damaged, and a task dies."""
    submitted(state, "effectively_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.crew.twist = commits(transactions)
    conductor.until(lambda: len(conductor.master_state.node.complete) == 3)
    conductor.crew.store.write(conductor.master_state.node.complete[-1].manifest, [b"{}"])
    conductor.crew.incarnations[2] = 2
    for _ in range(3):
        conductor.turn()
    return conductor


def test_what_is_committed_is_not_repeated_unless_a_person_says_so(
    state: StateManager, config: Config
) -> None:
    conductor = saved(state, config, 2)
    status = conductor.coordinator.checkpoint_status(conductor.now)
    assert conductor.master_state.node.run == 1, "it stands still"
    assert conductor.coordinator.trouble == status.undecided
    assert "would repeat 2 transactions that are committed: put the damaged objects back" in status.undecided
    assert status.undecided.endswith("heronpy checkpoints words --restore 2 --accept-repeats")
    successor = Conductor(state, config, conductor.crew, incarnation=2)
    for _ in range(3):
        successor.turn()
    assert successor.coordinator.trouble == conductor.coordinator.trouble, "a new master stands still as well"
    state.set(TREE.restore, msgspec.json.encode(Decision(2, "me")))
    successor.turn()
    node = successor.master_state.node
    assert node.base is not None
    assert (node.run, node.base.id, [ref.id for ref in node.complete]) == (2, 2, [1, 2])
    assert node.went_back[-1].because.endswith("; 2 committed transactions are repeated, as was accepted")
    assert not state.exists(TREE.restore)
    assert successor.coordinator.trouble == ""


def test_when_the_damaged_objects_are_back_it_goes_on_by_itself(state: StateManager, config: Config) -> None:
    submitted(state, "effectively_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.crew.twist = commits(1)
    conductor.until(lambda: len(conductor.master_state.node.complete) == 2)
    newest = conductor.master_state.node.complete[-1]
    whole = conductor.crew.store.read(newest.manifest)
    conductor.crew.store.delete(newest.manifest)
    conductor.crew.incarnations[2] = 2
    conductor.turn()
    assert "would repeat 1 transaction that is committed" in conductor.coordinator.trouble
    conductor.crew.store.write(newest.manifest, [whole])
    conductor.turn(10.0)
    assert (conductor.master_state.node.run, conductor.master_state.node.base) == (2, newest)
    assert (conductor.coordinator.trouble, conductor.master_state.node.went_back) == ("", ())


def test_where_nothing_was_committed_it_goes_back_by_itself_and_the_node_says_so(
    state: StateManager, config: Config
) -> None:
    conductor = saved(state, config, 0)
    node = conductor.master_state.node
    assert node.base is not None
    assert (node.run, node.base.id, conductor.coordinator.trouble) == (2, 2, "")
    assert [(each.checkpoint, each.run) for each in node.went_back] == [(2, 2)]
    successor = Conductor(state, config, conductor.crew, incarnation=2)
    told = successor.coordinator.checkpoint_status(successor.now).fell_back
    assert told.startswith("went back to checkpoint 2: checkpoint 3: object ")
