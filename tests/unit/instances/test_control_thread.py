"""The second thread of an instance: nobody hears of an instance without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil

from heronpy.instances.process.control import Control
from heronpy.kernel.protocol import Held, Part, Stored
from heronpy.kernel.transport import Transport

PROGRAM = """
import os, sys, time
from pathlib import Path
from heronpy.instances.process.control import Control
from heronpy.kernel.transport import Transport

def samples():
    raise ArithmeticError("these numbers do not add up")

_, lifeline = os.pipe()
control = Control(Transport(), Path(sys.argv[1]), 1, 1, lifeline, 30.0, 0.05, lambda: None)
control.samples = samples
control.start()
time.sleep(60)
"""


def test_an_instance_does_not_outlive_its_control_thread(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 70
    assert "ArithmeticError: these numbers do not add up" in done.stderr


def test_beats_leave_no_memory_behind(tmp_path: Path) -> None:
    reader, lifeline = os.pipe()
    with Transport() as transport:
        control = Control(transport, tmp_path, 1, 1, lifeline, 30.0, 1.0, lambda: None)
        control.held = lambda: Held(keyed=1000, used=True)
        control.hold_ups = lambda: {2: 1.5, 3: 0.5}

        def beat_for(checkpoints: range) -> int:
            """A beat for each of these; the process's memory after them."""
            for checkpoint in checkpoints:
                part = Part(object=f"words/0123456789ab/{checkpoint}/1", checksum="0" * 32, bytes=1000)
                control.progress.snapshot = Stored(id=checkpoint, run=1, parts=[part])
                control.tell()
                control._reactor.turn(0)
            return psutil.Process().memory_info().rss

        # until the connection's queue is full, and the allocator's caches are
        warm = beat_for(range(5_000))
        grown = beat_for(range(5_000, 25_000)) - warm
    os.close(reader)
    os.close(lifeline)
    assert grown < 2**20, f"{grown} bytes more after 20,000 beats"
