"""Checkpoints as the Topology Master conducts them: when they begin, are complete, or are given up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import pytest
from support.tasks.puppets import TREE, Conductor, Crew, packing, proposal, submitted

from heronpy.kernel.checkpoints.demand import Demand, pending_demands
from heronpy.kernel.checkpoints.manifest import read_manifest
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.config import Config
from heronpy.kernel.errors import StateError
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.protocol import InstanceBeat
from heronpy.kernel.tree.paths import ChildView


def running(state: StateManager, config: Config) -> Conductor:
    submitted(state, "at_least_once")
    return Conductor(state, config, Crew(state, config))


def silent_about(task: int, *, busy: str = "") -> Callable[[InstanceBeat], None]:
    """Of this task nothing has been stored."""

    def twist(beat: InstanceBeat) -> None:
        if beat.task == task:
            beat.ClearField("snapshot")
            beat.busy = busy

    return twist


def taken(conductor: Conductor) -> int:
    complete = conductor.master_state.node.complete
    return complete[-1].id if complete else 0


def phase(conductor: Conductor) -> str:
    update = conductor.master_state.update.value
    return update.phase if update is not None else ""


def test_one_begins_at_every_interval_and_names_what_everybody_has_stored(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)
    for _ in range(9):
        conductor.turn()
        assert conductor.master_state.node.started == 0
    conductor.until(lambda: taken(conductor) == 1, turns=4)
    ref = conductor.master_state.node.complete[0]
    manifest = read_manifest(conductor.crew.store, ref)
    assert (manifest.id, manifest.run, manifest.epoch, manifest.key_groups) == (1, 0, 1, 8)
    assert [(task.component, task.index) for task in manifest.tasks] == [
        ("line", 0),
        ("count", 0),
        ("count", 1),
    ]
    assert ref.bytes == manifest.bytes() > 0
    began = conductor.now
    conductor.until(lambda: taken(conductor) == 2)
    assert 0.8 < conductor.now - began < 1.2


def test_a_topology_that_has_not_changed_is_not_saved_again_until_it_does(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)
    conductor.until(lambda: taken(conductor) == 1)
    changed = 3

    def rest(beat: InstanceBeat) -> None:
        beat.unchanged_since = 0 if beat.task == changed else taken(conductor)

    conductor.crew.twist = rest
    conductor.until(lambda: taken(conductor) == 2)
    changed = 0
    for _ in range(30):
        conductor.turn()
    assert taken(conductor) == conductor.master_state.node.started == 2
    changed = 1
    conductor.until(lambda: taken(conductor) == 3, turns=4)


def test_one_that_is_asked_for_is_taken_though_nothing_has_changed(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)
    conductor.until(lambda: taken(conductor) == 1)

    def rest(beat: InstanceBeat) -> None:
        beat.unchanged_since = taken(conductor)

    conductor.crew.twist = rest
    for _ in range(30):
        conductor.turn()
    state.create(f"{TREE.demands}/me", msgspec.json.encode(Demand()))
    conductor.until(lambda: taken(conductor) == 2, turns=4)


def test_only_the_newest_are_kept_and_what_no_other_needs_is_removed(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)
    conductor.until(lambda: taken(conductor) == 5)
    assert [ref.id for ref in conductor.master_state.node.complete] == [3, 4, 5]
    folders = {name.split("/")[2] for name in conductor.crew.store.names("words/")}
    assert folders == {"3", "4", "5"}


def test_none_begins_while_somebody_does_not_run(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.crew.dead = {3}
    for _ in range(30):
        conductor.turn()
    assert conductor.master_state.node.started == 0
    conductor.crew.dead = set()
    conductor.until(lambda: taken(conductor) == 1, turns=3)


def test_a_paused_topology_is_saved_too(state: StateManager, config: Config) -> None:
    conductor = running(state, config)

    def paused(beat: InstanceBeat) -> None:
        beat.state = "paused" if beat.task == 1 else "running"

    conductor.crew.twist = paused
    conductor.until(lambda: taken(conductor) == 1)


def test_one_that_takes_too_long_is_given_up_and_says_who_was_late(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)
    conductor.crew.twist = silent_about(3, busy="process() for 6 s")
    conductor.until(lambda: conductor.master_state.node.started == 1)
    conductor.turn(4.0)
    status = conductor.coordinator.checkpoint_status(conductor.now)
    assert (status.running, status.waits_for) == (1, ("count[1] (process() for 6 s)",))
    conductor.turn(1.1)
    node = conductor.master_state.node
    assert (node.aborted, node.complete) == (1, ())
    assert node.aborted_because == "not complete after 5 s, waiting for count[1] (process() for 6 s)"


def test_an_error_of_a_task_gives_up_the_checkpoint_and_the_next_one_is_taken(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)

    def full(beat: InstanceBeat) -> None:
        if beat.task == 2 and beat.snapshot.id == 1:
            beat.snapshot.error = "disk full"

    conductor.crew.twist = full
    conductor.until(lambda: taken(conductor) == 2)
    assert (conductor.master_state.node.aborted, conductor.master_state.node.aborted_because) == (
        1,
        "count[0]: disk full",
    )


def test_a_task_that_is_another_process_now_has_stored_nothing(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.crew.twist = silent_about(3)
    conductor.until(lambda: conductor.master_state.node.started == 1)
    killed = ChildView(pid=7, state="running", restarts=1, last_exit="signal 9 (killed)", since=0.0, gone=1)
    conductor.master_state.roster.executors = conductor.executors("count[1]", killed)
    conductor.crew.incarnations[3] = 2
    conductor.turn()
    assert conductor.master_state.node.aborted_because == "count[1] ended: signal 9 (killed)"


def test_what_was_stored_in_another_run_or_for_another_checkpoint_does_not_count(
    state: StateManager, config: Config
) -> None:
    submitted(state, "effectively_once")
    conductor = Conductor(state, config, Crew(state, config))

    def of_before(beat: InstanceBeat) -> None:
        if beat.task == 2:
            beat.snapshot.run = 0

    conductor.crew.twist = of_before
    conductor.until(lambda: conductor.master_state.node.started == 1)
    for _ in range(10):
        conductor.turn()
    assert conductor.coordinator.checkpoint_status(conductor.now).waits_for == ("count[0] (running)",)


def test_an_update_waits_until_a_checkpoint_is_over_but_not_for_ever(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)
    conductor.crew.twist = silent_about(3)
    conductor.until(lambda: conductor.master_state.node.started == 1)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.turn()
    waiting = conductor.coordinator.update_status()
    assert waiting is not None
    assert (waiting.phase, waiting.waits_for) == ("proposed", ("checkpoint 1",))
    conductor.until(lambda: conductor.master_state.node.aborted == 1, turns=1000)
    assert conductor.master_state.node.aborted_because.startswith("not complete after")
    conductor.until(lambda: phase(conductor) == "done")
    assert conductor.master_state.packing() == packing(2, 3, 4, epoch=2)
    assert conductor.master_state.node.started == 1


def test_an_update_lets_a_checkpoint_become_complete(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.crew.twist = silent_about(3)
    conductor.until(lambda: conductor.master_state.node.started == 1)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.turn()
    conductor.crew.twist = lambda beat: None
    conductor.until(lambda: taken(conductor) == 1)
    conductor.until(lambda: phase(conductor) == "done")
    assert conductor.master_state.node.aborted == 0


def test_effectively_once_a_checkpoint_lies_between_two_updates(state: StateManager, config: Config) -> None:
    submitted(state, "effectively_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.until(lambda: conductor.master_state.node.run == 1)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(lambda: phase(conductor) == "done")
    assert conductor.master_state.plan.epoch == 2
    before = taken(conductor)
    conductor.crew.twist = silent_about(3)
    update = conductor.master_state.update.value
    assert update is not None
    state.set(
        TREE.update, msgspec.structs.replace(proposal(2, 3), number=update.number + 1, epoch=3).to_json()
    )
    for _ in range(15):
        conductor.turn()
    assert phase(conductor) == "proposed"
    conductor.crew.twist = lambda beat: None
    conductor.until(lambda: phase(conductor) == "done")
    assert taken(conductor) > before
    assert [ref.epoch for ref in conductor.master_state.node.complete][-1] == 2


def test_who_asks_for_one_is_answered_when_it_is_complete(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.turn()
    state.create(f"{TREE.demands}/a", msgspec.json.encode(Demand()))
    conductor.turn()
    assert conductor.master_state.node.started == 1, "at once"
    state.create(f"{TREE.demands}/b", msgspec.json.encode(Demand()))
    conductor.until(lambda: taken(conductor) == 1, turns=2)
    assert pending_demands(state, "words") == [f"{TREE.demands}/b"], "asked while the first was under way"
    conductor.until(lambda: taken(conductor) == 2, turns=3)
    assert pending_demands(state, "words") == []
    assert state.children(TREE.demands) == []


def test_who_asks_for_one_is_told_why_there_is_none(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.crew.twist = silent_about(3)
    state.create(f"{TREE.demands}/a", msgspec.json.encode(Demand()))
    conductor.until(lambda: conductor.master_state.node.started == 1)
    conductor.crew.incarnations[3] = 2
    conductor.turn()
    answer = msgspec.json.decode(state.get(f"{TREE.demands}/a").value, type=Demand)
    assert answer.error == "count[1] was started again"


def test_a_store_that_refuses_gives_up_the_checkpoint(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.until(lambda: taken(conductor) == 1)

    def refuse(name: str, chunks: Iterable[bytes]) -> None:
        msg = "quota exceeded"
        raise OSError(msg)

    conductor.master_state.store().write = refuse  # type: ignore[method-assign]
    conductor.until(lambda: conductor.master_state.node.aborted == 2)
    assert conductor.master_state.node.aborted_because == "the manifest could not be written: quota exceeded"
    assert taken(conductor) == 1


def failing_once(
    patch: pytest.MonkeyPatch, state: StateManager, when: Callable[[Checkpoints], bool], *, done: bool
) -> None:
    """A write to the node fails: it was `done`, and the answer got lost, or it was not."""
    real = state.set
    failed: list[bool] = []

    def set_(path: str, value: bytes, *, version: int | None = None) -> int:
        fails = path == TREE.checkpoints and not failed and when(Checkpoints.from_json(value))
        written = real(path, value, version=version) if done or not fails else 0
        if fails:
            failed.append(True)
            msg = "the answer got lost"
            raise StateError(msg)
        return written

    patch.setattr(state, "set", set_)


def test_a_checkpoint_is_complete_though_the_answer_of_the_state_tree_got_lost(
    state: StateManager, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    conductor = running(state, config)
    failing_once(monkeypatch, state, lambda node: bool(node.complete), done=True)
    conductor.until(lambda: taken(conductor) == 2)
    assert [ref.id for ref in conductor.master_state.node.complete] == [1, 2]
    for ref in conductor.master_state.node.complete:
        assert read_manifest(conductor.crew.store, ref).id == ref.id, "it has the checksum that it had then"


def test_a_checkpoint_that_could_not_be_given_up_is_given_up_later(
    state: StateManager, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    conductor = running(state, config)
    conductor.crew.twist = silent_about(3)
    failing_once(monkeypatch, state, lambda node: bool(node.aborted), done=False)
    conductor.until(lambda: conductor.master_state.node.started == 1)
    conductor.turn(6.0)
    assert conductor.master_state.node.aborted == 0
    conductor.turn()
    assert conductor.master_state.node.aborted == 1
