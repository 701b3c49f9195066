"""The means by which cluster tests hurt a running topology hurt only what they are meant to."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.running.engine import Engine
from support.running.fleet import stop_without_the_lock

#: takes the lock of a state tree again and again, and hardly ever lets it go
GREEDY = """
import fcntl, sys, time
with open(sys.argv[1]) as lock:
    while True:
        fcntl.flock(lock, fcntl.LOCK_EX)
        print("locked", flush=True)
        time.sleep(0.05)
        fcntl.flock(lock, fcntl.LOCK_UN)
"""


@pytest.mark.timeout(20)
def test_a_process_that_is_made_to_stand_still_never_keeps_the_lock_of_the_state_tree(tmp_path: Path) -> None:
    path = tmp_path / "state" / "@lock"
    path.parent.mkdir()
    path.touch()
    with subprocess.Popen([sys.executable, "-c", GREEDY, str(path)], stdout=subprocess.PIPE) as greedy:
        try:
            assert greedy.stdout is not None
            assert greedy.stdout.readline() == b"locked\n"
            stop_without_the_lock(Engine(tmp_path), [psutil.Process(greedy.pid)])
            with path.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            assert psutil.Process(greedy.pid).status() == psutil.STATUS_STOPPED
        finally:
            greedy.kill()
