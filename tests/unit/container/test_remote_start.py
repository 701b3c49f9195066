"""The topology's folder on another machine: who is ended there, who holds it, and who removes it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from heronpy.container.remote.remote_start import STALE, RemoteStart, remove_if_free, sweep
from heronpy.kernel.config import load_config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine.processes import boot_id, process
from heronpy.kernel.machine.sessions import Session
from heronpy.testing.waiting import eventually


def folder_of(machine: Path, execution: str) -> tuple[Path, int]:
    """A topology's folder as a container makes it, and its lock, held."""
    root = machine / f"heronpy-{os.getuid()}-{execution}"
    root.mkdir(mode=0o700)
    lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return root, lock


@pytest.fixture
def remote_start(tmp_path: Path) -> Iterator[RemoteStart]:
    root, lock = folder_of(tmp_path, "a1")
    config = load_config(os.devnull, environ={})
    launch = TopologyLaunch("far", "a1", config.to_plain(), str(root / "work"), str(root / "sockets"), True)
    (root / "launch-1.json").write_bytes(launch.to_json())
    yield RemoteStart(root / "launch-1.json", lock)
    os.close(lock)


def test_what_a_container_and_its_starter_left_when_both_were_killed_is_ended(
    remote_start: RemoteStart,
) -> None:
    script = "sleep 1000 & echo $!; exec sleep 1000"
    first = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert first.stdout is not None
    helper = int(first.stdout.readline())
    seen = process(first.pid)
    assert seen is not None
    record = remote_start.root / "container-1.session"
    record.write_bytes(msgspec.json.encode(Session(seen.pid, seen.started, boot_id())))
    first.kill()
    first.wait()
    first.stdout.close()
    left = process(helper)
    assert left is not None
    assert left.alive

    remote_start.succeed(1)
    eventually(lambda: (found := process(helper)) is None or not found.alive)
    assert msgspec.json.decode(record.read_bytes(), type=Session).pid == os.getpid()


def test_a_number_that_another_process_has_by_now_is_left_alone(remote_start: RemoteStart) -> None:
    other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        record = remote_start.root / "container-1.session"
        record.write_bytes(msgspec.json.encode(Session(other.pid, 1, boot_id())))
        remote_start.succeed(1)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_the_last_one_removes_the_folder(tmp_path: Path) -> None:
    root, lock = folder_of(tmp_path, "a1")
    other = os.open(root / "lock", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_SH)
    remove_if_free(root, lock)
    assert root.exists()
    os.close(other)
    remove_if_free(root, lock)
    assert not root.exists()
    os.close(lock)


def test_folders_of_those_who_were_killed_long_ago_are_swept(tmp_path: Path) -> None:
    own, lock = folder_of(tmp_path, "a1")
    roots = {}
    for execution in ("held", "fresh", "stale"):
        roots[execution], descriptor = folder_of(tmp_path, execution)
        if execution == "held":
            held = descriptor
        else:
            os.close(descriptor)
    long_ago = time.time() - STALE - 60
    for execution in ("held", "stale"):
        os.utime(roots[execution] / "lock", (long_ago, long_ago))
    sweep(own)
    assert {name for name, root in roots.items() if root.exists()} == {"held", "fresh"}
    os.close(held)
    os.close(lock)


def test_a_folder_that_is_open_to_others_is_no_folder_of_ours(tmp_path: Path) -> None:
    own, lock = folder_of(tmp_path, "own")
    trap, trap_lock = folder_of(tmp_path, "trap")
    os.close(trap_lock)
    os.utime(trap / "lock", (1, 1))
    trap.chmod(0o777)
    sweep(own)
    assert (trap / "lock").exists()
    trap.chmod(0o700)
    sweep(own)
    assert not trap.exists()
    os.close(lock)
