"""How long heronpy takes to start.

python -m bench.footprint [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.arithmetic import machine, spread

HERE = Path(__file__).parent
COMMAND = str(Path(sys.executable).parent / "heronpy")


def help_cpu() -> float:
    """CPU seconds of `heronpy --help`, interpreter included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([COMMAND, "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def submit_seconds() -> float:
    """From typing submit until a word count of 2 + 2 instances is RUNNING."""
    with tempfile.TemporaryDirectory(prefix="hb-") as home:
        environment = {**os.environ, "HERONPY_HOME": home}
        begun = time.monotonic()
        demo = str(HERE.parent / "heronpy" / "demo_topology.py")
        subprocess.run([COMMAND, "submit", demo], env=environment, check=True, capture_output=True)
        spent = time.monotonic() - begun
        subprocess.run([COMMAND, "kill", "--all"], env=environment, check=True, capture_output=True)
    return spent


def proportional_mb(pid: int) -> float:
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(machine())
    print(f"heronpy --help, CPU seconds: {spread([help_cpu() for _ in range(rounds)])}; goal: 0.2")
    print(f"submit to RUNNING, seconds: {spread([submit_seconds() for _ in range(rounds)])}; goal: about 2")


if __name__ == "__main__":
    main()
