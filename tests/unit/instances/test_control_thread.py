"""The second thread of an instance: nobody hears of an instance without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
