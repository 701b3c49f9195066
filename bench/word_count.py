"""Word count from spout to bolt, against Bytewax's keyed count of the same words in the same run.

python bench/word_count.py [--rounds 5]        needs: pip install bytewax
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from measure import alternate, machine, ratios, spread

HERE = Path(__file__).parent
COMMAND = str(Path(sys.executable).parent / "heronpy")
#: the measured stretch, in words: by then nearly every word of the vocabulary has been seen
FIRST, LAST = 2_000_000, 6_000_000
PEER_FIRST, PEER_LAST = 1_000_000, 1_500_000


def cpu_seconds(home: str) -> float:
    """Of every process of the topology."""
    total = 0.0
    for process in psutil.process_iter():
        try:
            if home in " ".join(process.cmdline()):
                times = process.cpu_times()
                total += times.user + times.system
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


def heronpy(cost: list[float], *options: str, topology: str = "words.py") -> float:
    """Words per second at the bolt; adds CPU-microseconds per word to `cost`."""
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        progress = Path(folder) / "progress"
        environment = {**os.environ, "HERONPY_HOME": f"{folder}/home"}
        arguments = ["submit", str(HERE / "topologies" / topology), str(progress), *options]
        subprocess.run([COMMAND, *arguments], env=environment, check=True, capture_output=True)
        try:
            first_at, first = _reached(progress, FIRST)
            before = cpu_seconds(folder)
            last_at, last = _reached(progress, LAST)
            cost.append((cpu_seconds(folder) - before) / (last - first) * 1e6)
        finally:
            subprocess.run([COMMAND, "kill", "--all"], env=environment, check=True, capture_output=True)
    return (last - first) / (last_at - first_at)


def _reached(progress: Path, words: int) -> tuple[float, int]:
    """When the bolt had counted at least so many words, and how many exactly."""
    while True:
        for line in progress.read_text().splitlines() if progress.exists() else ():
            at, seen = line.split()
            if int(seen) >= words:
                return float(at), int(seen)
        time.sleep(0.02)


def bytewax() -> float:
    """Words per second at the sink."""
    script = str(HERE / "peers" / "bytewax_count.py")
    done = subprocess.run(
        [sys.executable, script, str(PEER_FIRST), str(PEER_LAST)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine())
    cost: list[float] = []
    ours, peers = alternate(options.rounds, lambda: heronpy(cost), bytewax)
    print(f"heronpy  words per second: {spread(ours)}; CPU-microseconds per word: {spread(cost)}")
    print(f"bytewax  words per second: {spread(peers)}")
    pairs = ratios(ours, peers)
    print(f"heronpy / bytewax: {spread(pairs)}; goal: at least 5")
    raise SystemExit(0 if statistics.median(pairs) >= 5 else 1)


if __name__ == "__main__":
    main()
