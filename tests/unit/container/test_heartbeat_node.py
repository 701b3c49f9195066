"""Signs of life in the state tree, read with a clock of our own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import msgspec
import pytest

from heronpy.container.executor.executor_node import ExecutorRecord
from heronpy.kernel.config import Config
from heronpy.kernel.errors import NodeMissing, StateError, VersionConflict
from heronpy.kernel.liveness.heartbeat_node import HeartbeatNode, HeartbeatReader
from heronpy.kernel.plugin import Registry, StateManager
from heronpy.kernel.tree.paths import ChildView, ExecutorNode, Tree
from heronpy.testing.waiting import eventually

SILENCE = 8.0
PATH = Tree("words").pulse(1)


@pytest.fixture
def other(config: Config) -> Iterator[StateManager]:
    """What another process has in its hands."""
    manager = Registry.load().state_manager("localfs")()
    manager.initialize(config)
    yield manager
    manager.close()


def unheard(state: StateManager) -> Callable[..., int]:
    """A set() that is carried out and never answered."""
    answered = state.set

    def set_(path: str, value: bytes, *, version: int | None = None) -> int:
        answered(path, value, version=version)
        msg = "no answer"
        raise StateError(msg)

    return set_


def silent_after(
    reader: HeartbeatReader, heartbeat: HeartbeatNode, looks: int, *, beating: bool
) -> list[str]:
    """Read as often, one interval apart."""
    start = time.monotonic()
    for look in range(looks):
        if beating:
            heartbeat.beat()
        reader.look(start + look * reader.detector.interval, [PATH])
    return reader.detector.silent()


def test_a_pulse_that_stands_still_is_silent_until_it_moves(state: StateManager) -> None:
    heartbeat, reader = HeartbeatNode(state, PATH, SILENCE), HeartbeatReader(state, SILENCE)
    assert silent_after(reader, heartbeat, 50, beating=True) == []
    assert silent_after(reader, heartbeat, 12, beating=False) == [PATH]
    assert reader.detector.quiet(PATH) >= SILENCE
    assert silent_after(reader, heartbeat, 1, beating=True) == []


def test_one_that_was_given_up_is_awaited_again_when_it_moves(state: StateManager) -> None:
    heartbeat, reader = HeartbeatNode(state, PATH, SILENCE), HeartbeatReader(state, SILENCE)
    assert silent_after(reader, heartbeat, 12, beating=False) == [PATH]
    reader.give_up(PATH)
    assert silent_after(reader, heartbeat, 12, beating=False) == []
    assert silent_after(reader, heartbeat, 1, beating=True) == []
    assert silent_after(reader, heartbeat, 12, beating=False) == [PATH]


def test_a_write_that_was_carried_out_unheard_fences_nobody(
    state: StateManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when ZooKeeper loses its majority between the write and the answer."""
    heartbeat, record = HeartbeatNode(state, PATH, SILENCE), ExecutorRecord(state, "words", 1)
    child = ChildView(pid=1, state="running", restarts=0, last_exit="", since=0.0)
    with monkeypatch.context() as patch:
        patch.setattr(state, "set", unheard(state))
        with pytest.raises(StateError, match="no answer"):
            heartbeat.beat()
        with pytest.raises(StateError, match="no answer"):
            record.publish({"a": child})
    heartbeat.beat()
    assert record.is_ours()
    record.publish({"a": child, "b": child})
    published = msgspec.json.decode(state.get(record.path).value, type=ExecutorNode)
    assert set(published.children) == {"a", "b"}
    HeartbeatNode(state, PATH, SILENCE), ExecutorRecord(state, "words", 1)
    with pytest.raises(VersionConflict):
        heartbeat.beat()
    assert not record.is_ours()
    with pytest.raises(VersionConflict):
        record.publish({"a": child})


def test_the_first_executor_of_the_next_topology_of_that_name_is_not_taken_for_that_of_the_last(
    state: StateManager,
) -> None:
    last = ExecutorRecord(state, "words", 1)
    state.delete(Tree("words").root, recursive=True)
    following = ExecutorRecord(state, "words", 1)
    assert (last.incarnation, following.incarnation) == (1, 1)
    assert (last.is_ours(), following.is_ours()) == (False, True)
    with pytest.raises(VersionConflict):
        last.publish({})
    with pytest.raises(VersionConflict):
        last.retire()
    assert following.is_ours()


def test_what_could_not_be_confirmed_is_published_again(
    state: StateManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = ExecutorRecord(state, "words", 1)
    runs = ChildView(pid=1, state="running", restarts=0, last_exit="", since=0.0)
    quiet = msgspec.structs.replace(runs, state="silent")
    record.publish({"a": runs})
    with monkeypatch.context() as patch:
        patch.setattr(state, "set", unheard(state))
        with pytest.raises(StateError, match="no answer"):
            record.publish({"a": quiet})
    record.publish({"a": runs})
    assert msgspec.json.decode(state.get(record.path).value, type=ExecutorNode).children == {"a": runs}


def test_nobody_is_awaited_who_never_had_a_pulse_or_has_ended(
    state: StateManager, other: StateManager
) -> None:
    reader = HeartbeatReader(state, SILENCE)
    reader.look(0.0, [PATH])
    assert not reader.detector.awaits(PATH)
    HeartbeatNode(other, PATH, SILENCE)
    reader.look(0.0, [PATH])
    assert reader.detector.awaits(PATH)
    other.close()
    reader.look(0.0, [PATH])
    assert not reader.detector.awaits(PATH)


def test_a_successor_takes_the_pulse_from_one_that_was_stopped(
    state: StateManager, other: StateManager
) -> None:
    stopped = HeartbeatNode(other, PATH, SILENCE)
    successor = HeartbeatNode(state, PATH, SILENCE)
    with pytest.raises(VersionConflict):
        stopped.beat()
    other.close()
    successor.beat()


def test_a_pulse_does_not_bring_a_killed_topology_back(state: StateManager) -> None:
    heartbeat = HeartbeatNode(state, PATH, SILENCE)
    state.delete(Tree("words").root, recursive=True)
    with pytest.raises(NodeMissing):
        heartbeat.beat()
    assert state.children("/") == []


def test_pulses_wake_nobody_who_watches_something_else(state: StateManager) -> None:
    tree = Tree("words")
    heartbeat = HeartbeatNode(state, PATH, SILENCE)
    woken = threading.Event()
    watches = [
        state.watch(path, woken.set)
        for path in (tree.executor(1), tree.stream_manager(1), tree.requests, tree.scheduler, tree.master)
    ]
    for _ in range(5):
        heartbeat.beat()
    assert not woken.wait(0.3)
    state.set(tree.executor(1), b"")
    assert woken.wait(10)
    for watch in watches:
        watch.cancel()


def test_it_beats_in_the_background_until_it_is_fenced(state: StateManager, other: StateManager) -> None:
    heartbeat, fenced = HeartbeatNode(state, PATH, 0.08), threading.Event()
    first = state.get(PATH).version
    with heartbeat.in_background(fenced.set):
        eventually(lambda: state.get(PATH).version > first + 3)
        assert not fenced.is_set()
        HeartbeatNode(other, PATH, SILENCE)
        assert fenced.wait(10)
