"""At least once under fire: whatever is killed in mid-stream, every number is acked and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import struct
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from support.engine import TOPOLOGIES, Engine, wait_until

TUPLES = 60_000
ENTRY = struct.Struct("<II")


def progress(folder: Path) -> tuple[int, int]:
    """Numbers acked and replayed so far."""
    words = (folder / "progress").read_text().split() if (folder / "progress").exists() else []
    return (int(words[0]), int(words[1])) if len(words) == 2 else (0, 0)


def victims(engine: Engine, role: str) -> list[psutil.Process]:
    if role == "executor":
        executors = [p for p in engine.processes() if "heronpy.container.executor" in p.cmdline()]
        # Not the master's, and not the spout's: a spout's successor starts from the beginning.
        homes = {p.pid: p.cmdline()[-1] for p in executors}
        spout = next(p for p in engine.processes() if p.name().startswith("numbers"))
        return [p for p in executors if homes[p.pid] != "0" and p.pid != spout.ppid()]
    return [p for p in engine.processes() if p.name().startswith(role)]


@pytest.mark.cluster
@pytest.mark.timeout(180)
@pytest.mark.parametrize("role", ["relay", "ledger", "stream-manager", "executor", "topology-master"])
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_when_a_process_dies_in_mid_stream(
    engine: Engine, tmp_path: Path, role: str, seed: int
) -> None:
    dice = random.Random(f"{role} {seed}")
    threshold = TUPLES * dice.uniform(0.05, 0.3)
    print(f"seed {seed}")
    engine.ok("submit", str(TOPOLOGIES / "replaying.py"), str(TUPLES), str(tmp_path))
    wait_until(lambda: progress(tmp_path)[0] > threshold, 60, "some progress")
    acked_before = progress(tmp_path)[0]
    assert acked_before < TUPLES, "the fault must hit data in flight"
    killed = dice.choice(victims(engine, role))
    # It stands still for a moment first, so that something is certainly on its way to it.
    os.kill(killed.pid, signal.SIGSTOP)
    time.sleep(0.1)
    os.kill(killed.pid, signal.SIGKILL)
    begun = time.monotonic()

    wait_until(lambda: progress(tmp_path)[0] > acked_before + 1000, 60, "new acks", engine.log_tails)
    print(f"first new acks after {time.monotonic() - begun:.2f} s")
    wait_until(lambda: progress(tmp_path)[0] >= TUPLES, 90, "all acks", lambda: str(progress(tmp_path)))
    seen = Counter(
        number for path in tmp_path.glob("ledger-*") for number, _ in ENTRY.iter_unpack(path.read_bytes())
    )
    assert sorted(seen) == list(range(TUPLES)), "lost or unexpected numbers"
    replayed = progress(tmp_path)[1]
    if role == "topology-master":
        assert replayed == 0
        assert set(seen.values()) == {1}
    else:
        assert replayed > 0, "the fault hit nothing in flight"
    engine.ok("kill", "Replaying")
    assert engine.leftovers() == []
