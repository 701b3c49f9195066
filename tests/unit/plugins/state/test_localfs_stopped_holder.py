"""A process that was stopped in the middle of a change holds up nobody for ever."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heronpy.kernel.errors import StateError
from heronpy.kernel.plugin.state_manager import StateManager

HOLDER = """
import fcntl, os, signal, sys
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
print("holds", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_others_read_on_and_are_told_and_go_on_when_it_is_gone(
    state: StateManager,
    open_state: Callable[[Path], StateManager],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("heronpy.plugins.state.localfs.guard.LOCK_SECONDS", 0.2)
    state.set("/a", b"1")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "state" / "@lock")], stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"holds\n"
        with pytest.raises(StateError, match=r"another process has kept the state folder locked for 0\.2 s"):
            state.set("/a", b"2")
        assert state.get("/a").value == b"1"
        late = open_state(tmp_path)
        assert (late.children("/"), late.get("/a").value) == (["a"], b"1")
        holder.kill()
    state.set("/a", b"2")
    assert state.get("/a").value == b"2"
