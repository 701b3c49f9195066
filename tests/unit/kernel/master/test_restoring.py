"""Effectively once: when a run begins, with whom, and from which checkpoint."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.puppets import TREE, Conductor, Crew, packing, proposal, submitted

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.config import Config
from heronpy.kernel.master.knowledge.roster import Roster
from heronpy.kernel.master.restoring.decide import Restoring
from heronpy.kernel.plans import LogicalPlan, PhysicalPlan, PlacedTask
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.protocol import ContainerBeat, InstanceBeat, ProcessBeat
from heronpy.kernel.tree.paths import ChildView


def started(state: StateManager, config: Config, checkpoints: int = 0) -> Conductor:
    submitted(state, "effectively_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.until(lambda: conductor.master_state.node.run == 1)
    conductor.until(lambda: len(conductor.master_state.node.complete) == checkpoints)
    return conductor


def test_the_first_run_begins_when_everybody_is_there(state: StateManager, config: Config) -> None:
    submitted(state, "effectively_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.crew.dead = {2}
    for _ in range(10):
        conductor.turn()
    assert conductor.master_state.node.run == 0
    conductor.crew.dead = set()
    conductor.turn()
    node = conductor.master_state.node
    assert (node.run, node.base, node.because) == (1, None, "")
    assert (node.members, node.managers) == ({1: 1, 2: 1, 3: 1}, {1: 1, 2: 1})


def test_where_there_are_no_runs_nobody_is_a_member(state: StateManager, config: Config) -> None:
    submitted(state, "at_least_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.crew.incarnations[2] = 5
    for _ in range(10):
        conductor.turn()
    assert (conductor.master_state.node.run, conductor.master_state.node.members) == (0, {})


@pytest.mark.parametrize(
    ("whose", "because"),
    [
        ("task", "count[1] ended: signal 9 (killed)"),
        ("manager", "the stream manager of container 2 was started again"),
        ("gap", "tuples on their way to count[0] were lost"),
    ],
)
def test_any_loss_begins_another_run_from_the_newest_checkpoint(
    state: StateManager, config: Config, whose: str, because: str
) -> None:
    conductor = started(state, config, checkpoints=2)
    if whose == "task":
        conductor.crew.incarnations[3] = 2
        killed = ChildView(
            pid=7, state="running", restarts=1, last_exit="signal 9 (killed)", since=0.0, gone=1
        )
        conductor.published = conductor.executors("count[1]", killed)
    elif whose == "manager":
        conductor.crew.managers[2] = 2
    else:

        def gap(beat: InstanceBeat) -> None:
            beat.broken_run = 1 if beat.task == 2 else 0

        conductor.crew.twist = gap
    conductor.turn()
    node = conductor.master_state.node
    assert (node.run, node.because) == (2, because)
    assert node.base == node.complete[-1]
    status = conductor.coordinator.checkpoint_status(conductor.now)
    assert (status.run, status.restores, status.restored_because) == (2, 1, because)
    for _ in range(5):
        conductor.turn()
    assert conductor.master_state.node.run == 2


def test_it_waits_until_everybody_is_there_again(state: StateManager, config: Config) -> None:
    conductor = started(state, config, checkpoints=1)
    conductor.crew.incarnations[3] = 2
    waiting = ChildView(pid=0, state="waiting", restarts=1, last_exit="exit 1", since=0.0, gone=1)
    conductor.published = conductor.executors("count[0]", waiting)
    for _ in range(10):
        conductor.turn()
    assert conductor.master_state.node.run == 1, "count[0] has ended as well, and is not back"
    conductor.crew.incarnations[2] = 2
    conductor.turn()
    assert (conductor.master_state.node.run, conductor.master_state.node.members) == (2, {1: 1, 2: 2, 3: 2})


def test_a_loss_that_is_heard_of_before_the_successor_of_who_died_begins_one_run_not_two(
    state: StateManager, config: Config
) -> None:
    conductor = started(state, config, checkpoints=1)
    again = ChildView(pid=8, state="running", restarts=1, last_exit="signal 9 (killed)", since=0.0, gone=1)
    conductor.published = conductor.executors("stream-manager-2", again)

    def gap(beat: InstanceBeat) -> None:
        beat.broken_run = 1 if beat.task == 2 else 0

    conductor.crew.twist = gap
    for _ in range(10):
        conductor.turn()
    assert conductor.master_state.node.run == 1, "the stream manager that runs by now has not spoken"
    conductor.crew.managers[2] = 2
    for _ in range(10):
        conductor.turn()
    assert (conductor.master_state.node.run, conductor.master_state.node.managers) == (2, {1: 1, 2: 2})


def test_a_new_master_does_not_end_a_healthy_run(state: StateManager, config: Config) -> None:
    first = started(state, config, checkpoints=1)
    second = Conductor(state, config, first.crew, incarnation=2)
    for container in (1, 2):
        # one after the other, as they connect
        for beat in first.crew.beats():
            if beat.container == container:
                second.master_state.roster.on_container(beat)
        second.coordinator.look(second.now)
    for _ in range(10):
        second.turn()
    assert second.master_state.node.run == 1


def test_a_checkpoint_that_was_not_complete_is_never_restored(state: StateManager, config: Config) -> None:
    conductor = started(state, config, checkpoints=1)

    def late(beat: InstanceBeat) -> None:
        if beat.task == 3 and beat.snapshot.id == 2:
            beat.ClearField("snapshot")

    conductor.crew.twist = late
    conductor.until(lambda: conductor.master_state.node.started == 2)
    conductor.crew.incarnations[2] = 2
    conductor.turn()
    node = conductor.master_state.node
    assert (node.run, node.started, node.aborted) == (2, 2, 2)
    assert node.base is not None
    assert node.base.id == 1


def test_a_damaged_manifest_means_the_next_older_checkpoint_and_is_said(
    state: StateManager, config: Config
) -> None:
    conductor = started(state, config, checkpoints=3)
    newest = conductor.master_state.node.complete[-1]
    conductor.crew.store.write(newest.manifest, [b"{}"])
    conductor.crew.incarnations[2] = 2
    conductor.turn()
    node = conductor.master_state.node
    assert node.base is not None
    assert (node.run, node.base.id) == (2, 2)
    assert [ref.id for ref in node.complete] == [1, 2]
    told = conductor.coordinator.checkpoint_status(conductor.now).fell_back
    assert told.startswith("went back to checkpoint 2: checkpoint 3: object ")
    assert "its checksum differs" in told


def test_damage_deep_inside_is_found_when_a_run_never_gets_going(state: StateManager, config: Config) -> None:
    conductor = started(state, config, checkpoints=2)
    conductor.turn()
    newest = conductor.master_state.node.complete[-1]
    for name in conductor.crew.store.names(newest.manifest.removesuffix("manifest")):
        if name.endswith("/3-1"):
            conductor.crew.store.write(name, [b"scratched"])

    def cannot_load(beat: InstanceBeat) -> None:
        node = conductor.master_state.node
        if beat.task == 3 and node.base == newest and node.run > 1:
            beat.state, beat.run = "starting", 0

    conductor.crew.twist = cannot_load
    conductor.crew.incarnations[2] = 2
    conductor.turn()
    assert conductor.master_state.node.base == newest, "its manifest is whole"
    conductor.turn()
    conductor.crew.incarnations[3] = 2
    conductor.turn()
    node = conductor.master_state.node
    assert node.base is not None
    assert (node.run, node.base.id) == (3, 1)


def test_when_no_checkpoint_can_be_read_it_stands_still_and_says_so(
    state: StateManager, config: Config
) -> None:
    conductor = started(state, config, checkpoints=1)
    ref = conductor.master_state.node.complete[0]
    whole = conductor.crew.store.read(ref.manifest)
    conductor.crew.store.delete(ref.manifest)
    conductor.crew.incarnations[2] = 2
    for _ in range(5):
        conductor.turn()
    assert conductor.master_state.node.run == 1
    assert conductor.coordinator.trouble.startswith("no checkpoint can be read: object words/")
    conductor.crew.store.write(ref.manifest, [whole])
    conductor.turn(10.0)
    assert (conductor.master_state.node.run, conductor.coordinator.trouble) == (2, "")


def test_a_restore_rolls_an_update_back(state: StateManager, config: Config) -> None:
    conductor = started(state, config, checkpoints=1)

    def never_hands_over(beat: InstanceBeat) -> None:
        beat.ClearField("handover")

    conductor.crew.twist = never_hands_over
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(
        lambda: conductor.master_state.updating is not None and conductor.master_state.updating.phase == "cut"
    )
    conductor.crew.incarnations[2] = 2
    for _ in range(3):
        conductor.turn()
    update = conductor.master_state.update.value
    assert update is not None
    assert (update.phase, update.reason) == ("rolled_back", "count[0] was started again")
    assert (conductor.master_state.node.run, conductor.master_state.plan.epoch) == (2, 1)


def test_a_restore_after_the_commit_is_one_of_the_new_plan(state: StateManager, config: Config) -> None:
    conductor = started(state, config, checkpoints=1)

    def never_switches(beat: InstanceBeat) -> None:
        if conductor.master_state.node.run == 1:
            beat.current_epoch = 1

    conductor.crew.twist = never_switches
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(lambda: conductor.master_state.plan.epoch == 2)
    conductor.turn()
    conductor.crew.incarnations[4] = 2
    for _ in range(5):
        conductor.turn()
    update = conductor.master_state.update.value
    assert update is not None
    assert (update.phase, conductor.master_state.node.run) == ("done", 2)
    assert conductor.master_state.node.members == {1: 1, 2: 1, 3: 1, 4: 2}
    assert conductor.master_state.packing() == packing(2, 3, 4, epoch=2)


TASKS = tuple(PlacedTask(number, "c", number, 1 + number % 2) for number in range(1, 5))
PLAN = PhysicalPlan("w", 1, LogicalPlan("w", ()), TASKS, (), {})


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), max_size=30), st.integers())
def test_whatever_the_order_of_beats_a_run_has_the_newest_of_everybody(
    starts: list[tuple[int, int]], seed: int
) -> None:
    """Beats of replaced processes may come late, and count for nothing."""
    beats = [(task, 1) for task in range(1, 5)] + starts
    random.Random(seed).shuffle(beats)
    roster, restoring, node = Roster(), Restoring(), Checkpoints()
    newest: dict[int, int] = {}
    for task, incarnation in beats:
        beat = InstanceBeat(task=task, state="starting")
        process = ProcessBeat(slot=task, incarnation=incarnation, instances=[beat])
        roster.on_container(ContainerBeat(container=1 + task % 2, incarnation=1, processes=[process]))
        newest[task] = max(incarnation, newest.get(task, 0))
        because = restoring.why(node, PLAN, roster)
        following = restoring.next_run(node, PLAN, roster, because) if because else None
        if following is not None:
            assert following.members == newest
            node = Checkpoints(run=following.run, members=following.members, managers=following.managers)
        if len(newest) == 4:
            assert node.members == newest
            assert not restoring.why(node, PLAN, roster)
        else:
            assert node.run == 0
