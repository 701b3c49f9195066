"""localfs watches where timing is against them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.testing.contracts.state_manager import QUIET, SOON, Told

Opener = Callable[[Path], StateManager]


class Held:
    """A callback that stays inside until it is let go, and with it the thread that reads events."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.let_go = threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        self.let_go.wait(SOON)


@pytest.fixture
def held(state: StateManager) -> Iterator[Held]:
    """The state manager's thread is busy until `let_go` is set."""
    held = Held()
    state.watch("/held", held)
    state.set("/held", b"")
    assert held.entered.wait(SOON)
    yield held
    held.let_go.set()


def test_a_watch_hears_nothing_of_events_that_were_waiting(state: StateManager, held: Held) -> None:
    early, late = Told(), Told()
    state.watch("/t", early)
    state.create("/t", b"")
    state.watch("/t", late)
    held.let_go.set()
    assert early.within(SOON)
    assert not late.within(QUIET)


def test_a_node_that_comes_and_goes_with_its_parent_is_told(state: StateManager, held: Held) -> None:
    """As a lock does that is taken and released while its next holder is about to wait for it."""
    told = Told()
    state.watch("/locks/t", told)
    state.create("/locks/t", b"", ephemeral=True)
    state.delete("/locks/t")
    held.let_go.set()
    assert told.within(SOON)


def test_a_watch_that_is_due_can_still_be_cancelled(state: StateManager) -> None:
    inside, other = Held(), Told()
    first_called: list[str] = []

    def called(name: str) -> Callable[[], None]:
        def callback() -> None:
            first_called.append(name)
            if len(first_called) == 1:
                inside()
            else:
                other()

        return callback

    watches = {name: state.watch("/t", called(name)) for name in ("a", "b")}
    state.create("/t", b"")
    assert inside.entered.wait(SOON)
    watches[{"a": "b", "b": "a"}[first_called[0]]].cancel()
    inside.let_go.set()
    assert not other.within(QUIET)


def test_a_child_that_went_and_came_back_is_told(state: StateManager, held: Held) -> None:
    state.create("/t/a", b"")
    told = Told()
    state.watch("/t", told)
    state.delete("/t/a")
    state.create("/t/a", b"")
    held.let_go.set()
    assert told.within(SOON)


def test_a_node_that_came_and_went_with_its_topology_is_told(state: StateManager, held: Held) -> None:
    told = Told()
    state.create("/t/other", b"")
    state.watch("/t/node", told)
    state.create("/t/node", b"")
    state.delete("/t", recursive=True)
    held.let_go.set()
    assert told.within(SOON)


def test_events_beyond_the_kernels_queue_cost_no_notification(
    state: StateManager, held: Held, tmp_path: Path
) -> None:
    told = Told()
    state.watch("/t/deep", told)
    stray = tmp_path / "state/stray"
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        stray.mkdir()
        stray.rmdir()
    state.create("/t/deep", b"")
    held.let_go.set()
    assert told.within(SOON)
    state.set("/t/deep", b"and on it goes")
    assert told.within(SOON)


def test_a_callback_may_use_and_close_its_state_manager(open_state: Opener, tmp_path: Path) -> None:
    state, other = open_state(tmp_path), open_state(tmp_path)
    seen: list[bytes] = []
    done = Told()

    def look_and_leave() -> None:
        seen.append(state.get("/t").value)
        state.watch("/u", done)
        state.close()
        done()

    state.watch("/t", look_and_leave)
    other.create("/t", b"x")
    assert done.within(SOON)
    assert seen == [b"x"]
    ended = [thread for thread in threading.enumerate() if thread.name == "localfs-watch"]
    for thread in ended:
        thread.join(SOON)
        assert not thread.is_alive()


def test_a_callback_that_fails_is_logged_and_the_others_go_on(
    state: StateManager, caplog: pytest.LogCaptureFixture
) -> None:
    told = Told()
    state.watch("/t", lambda: 1 // 0)  # type: ignore[arg-type]
    state.create("/t", b"")
    state.watch("/t", told)
    state.set("/t", b"")
    assert told.within(SOON)
    assert "the callback of a watch on /t failed" in caplog.messages


def test_a_ctrl_c_while_the_watching_thread_starts_leaves_no_thread(
    open_state: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = open_state(tmp_path)
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        started.append(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        state.watch("/t/update", lambda: None)
    monkeypatch.undo()
    (thread,) = started
    thread.join(SOON)
    assert not thread.is_alive()
