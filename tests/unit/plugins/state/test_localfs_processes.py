"""localfs among processes: nothing lost, nothing left open, nothing inherited."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pluggy
import psutil
import pytest

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import NodeMissing, StateError
from heronpy.kernel.plugin import hookspecs
from heronpy.kernel.plugin.registry import Registry
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.plugins.state import hooks
from heronpy.plugins.state.localfs import guard
from heronpy.plugins.state.localfs.manager import LocalFsStateManager
from heronpy.testing.contracts.state_manager import SOON, Told, increment

Opener = Callable[[Path], StateManager]

OWN = """
import os, sys, time
from heronpy.kernel.config import load_config
from heronpy.plugins.state.localfs.manager import LocalFsStateManager

state = LocalFsStateManager()
state.initialize(load_config(os.devnull, environ={}, flags={"home": sys.argv[1]}))
state.create(f"/{sys.argv[2]}/a/deep", b"", ephemeral=True)
state.create(f"/{sys.argv[2]}/b", b"", ephemeral=True)
print("owned", flush=True)
time.sleep(60)
"""


def test_eight_processes_lose_no_increment(
    state: StateManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.create("/count", b"0")
    monkeypatch.setattr(guard, "LOCK_SECONDS", 100.0)  # a busy machine keeps eight waiting for long
    wait, start = os.pipe()
    children = [forked_counter(tmp_path, wait, start) for _ in range(8)]
    os.close(wait)
    os.close(start)  # now all of them begin
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert state.get("/count").value == b"200"


def forked_counter(home: Path, wait: int, start: int) -> int:
    """A process that adds one 25 times, as soon as all writing ends of the pipe are closed."""
    child = os.fork()
    if child:
        return child
    try:
        os.close(start)
        state = LocalFsStateManager()
        state.initialize(load_config(os.devnull, environ={}, flags={"home": str(home)}))
        os.read(wait, 1)
        for _ in range(25):
            increment(state, "/count")
        state.close()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def test_fifty_lives_leave_no_descriptor_thread_or_file(open_state: Opener, tmp_path: Path) -> None:
    process = psutil.Process()
    open_state(tmp_path).close()
    before = (process.num_fds(), threading.active_count())
    for _ in range(50):
        state = open_state(tmp_path)
        told = Told()
        state.watch("/t/a", told)
        state.create("/t/a", b"", ephemeral=True)
        assert told.within(SOON)
        state.close()
    assert (process.num_fds(), threading.active_count()) == before
    assert sorted(entry.name for entry in (tmp_path / "state").rglob("*")) == [
        "@lock",
        "@sessions",
        "@spare",
        "@tmp",
        "@version",
    ]


@contextlib.contextmanager
def dying_owner(home: Path, topology: str) -> Iterator[None]:
    """A process that owns nodes of the topology, and is killed at the end of the block."""
    command = [sys.executable, "-c", OWN, str(home), topology]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"owned\n"
        yield
        owner.kill()


def test_a_dead_owner_is_cleared_up_after_by_those_who_watch_its_topology(
    state: StateManager, tmp_path: Path
) -> None:
    """A thousand processes of other topologies leave it, and the tree's lock, to them."""
    sessions, told = tmp_path / "state/@sessions", Told()
    state.watch("/mine/b", told)
    with dying_owner(tmp_path, "mine"):
        (mine,) = sessions.iterdir()
        with dying_owner(tmp_path, "theirs"):
            (theirs,) = {*sessions.iterdir()} - {mine}
    assert told.until(lambda: list(sessions.iterdir()) == [theirs])
    assert not state.exists("/mine/b")
    assert not state.exists("/theirs/b")


def test_a_dead_owners_nodes_are_gone_at_the_first_look(state: StateManager, tmp_path: Path) -> None:
    with dying_owner(tmp_path, "t"):
        assert state.children("/t") == ["a", "b"]
    with pytest.raises(NodeMissing):
        state.get("/t/a/deep")
    assert state.children("/") == []
    assert list((tmp_path / "state/@sessions").iterdir()) == []


def test_a_forked_child_does_not_keep_a_dead_owner_alive(open_state: Opener, tmp_path: Path) -> None:
    state = open_state(tmp_path)
    read, write = os.pipe()
    owner = os.fork()
    if owner == 0:
        own_a_node_and_fork(tmp_path, write)
    os.close(write)
    grandchild = int(os.read(read, 20))
    os.close(read)
    try:
        told = Told()
        state.watch("/t/here", told)
        assert state.exists("/t/here")
        os.kill(owner, 9)
        os.waitpid(owner, 0)
        assert told.until(lambda: not state.exists("/t/here"))
        assert psutil.pid_exists(grandchild)
    finally:
        os.kill(grandchild, 9)


def own_a_node_and_fork(home: Path, write: int) -> None:
    """Own a node, have a child that sleeps, tell its pid, and sleep too."""
    try:
        state = LocalFsStateManager()
        state.initialize(load_config(os.devnull, environ={}, flags={"home": str(home)}))
        state.create("/t/here", b"", ephemeral=True)
        child = os.fork()
        if child:
            os.write(write, str(child).encode())
        threading.Event().wait(60)
    finally:
        os._exit(1)


def test_a_client_is_of_no_use_in_a_forked_child(state: StateManager) -> None:
    state.create("/t", b"", ephemeral=True)
    child = os.fork()
    if child == 0:
        try:
            with pytest.raises(StateError, match="by the parent process before a fork"):
                state.get("/t")
            state.close()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert state.exists("/t")


def test_a_closed_client_says_so(state: StateManager) -> None:
    state.close()
    for call in (
        lambda: state.get("/t"),
        lambda: state.create("/t", b""),
        lambda: state.watch("/t", lambda: None),
    ):
        with pytest.raises(StateError, match="is closed"):
            call()


def test_it_is_found_by_its_name() -> None:
    plugins = pluggy.PluginManager(hookspecs.PROJECT)
    plugins.add_hookspecs(hookspecs)
    plugins.register(hooks)
    assert Registry(plugins).state_manager("localfs") is LocalFsStateManager
