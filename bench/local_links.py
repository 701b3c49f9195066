"""Links within a container: ZeroMQ against plain unix sockets, ZeroMQ against itself, and a bare relay.

python bench/local_links.py [--rounds 7] [--seconds 8] [--without-idle]

Every round runs zmq, unix and zmq again, in turn. A thousand tuples a second go from a spout over the Stream
Manager to a bolt; beside each run, a bare relay sends as many messages over two unix sockets. Latency counts
from the emit to process(), and from the time that the tuple was due.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import psutil
from footprint import idle
from measure import machine, ratios, spread

HERE = Path(__file__).parent
COMMAND = str(Path(sys.executable).parent / "heronpy")
RATE = 1000
SETTING = "HERONPY_TRANSPORT_LOCAL"
STAMP = struct.Struct("d")


class Run(NamedTuple):
    """Medians in microseconds, CPU of all processes in microseconds per tuple."""

    since_emitted: float
    since_due: float
    cpu: float
    relay: float


def paced(kind: str, seconds: float) -> Run:
    with tempfile.TemporaryDirectory(prefix="hb-") as home:
        notes = Path(home) / "notes.json"
        environment = {**os.environ, "HERONPY_HOME": home, SETTING: kind}
        submit = [COMMAND, "submit", str(HERE / "topologies" / "paced.py"), str(notes)]
        subprocess.run(submit, env=environment, check=True, capture_output=True)
        try:
            while not notes.exists():
                time.sleep(0.1)
            time.sleep(2)  # start-up is over
            before, spent_before = _noted(notes), _spent(home)
            time.sleep(seconds / 2)
            relay = relay_p50(seconds / 2)
            after, spent = _noted(notes), _spent(home) - spent_before
        finally:
            subprocess.run([COMMAND, "kill", "--all"], env=environment, check=True, capture_output=True)
    due, emitted = (late - early for early, late in zip(before, after, strict=True))
    return Run(_median(emitted), _median(due), 1e6 * spent / due.total(), relay)


def relay_p50(seconds: float) -> float:
    """A sends a message a millisecond to B, which hands it on to C: three processes and nothing else."""
    a, b_in = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    b_out, c = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sender, relay = os.fork(), 0
    if not sender:
        _send(a, int(seconds * RATE))
    relay = os.fork()
    if not relay:
        while message := b_in.recv(100):
            b_out.send(message)
        os._exit(0)
    for each in (a, b_in, b_out):
        each.close()
    took = []
    poll = select.poll()
    poll.register(c, select.POLLIN)
    while poll.poll() and (message := c.recv(100)) and message != b"end":
        took.append(time.monotonic() - STAMP.unpack_from(message)[0])
    c.close()
    for child in (sender, relay):
        os.waitpid(child, 0)
    return 1e6 * statistics.median(took)


def _send(out: socket.socket, count: int) -> None:
    due = time.monotonic()
    for _ in range(count):
        due += 1 / RATE
        time.sleep(max(0.0, due - time.monotonic()))
        out.send(STAMP.pack(time.monotonic()) + bytes(50))
    out.send(b"end")
    out.send(b"")
    os._exit(0)


def _noted(notes: Path) -> tuple[Counter[int], Counter[int]]:
    """Tuples by microseconds: since due, since emitted."""
    due, emitted = json.loads(notes.read_text())
    return Counter({int(k): v for k, v in due.items()}), Counter({int(k): v for k, v in emitted.items()})


def _median(counts: Counter[int]) -> float:
    return float(statistics.median(counts.elements()))


def _spent(home: str) -> float:
    """CPU seconds of all processes of the topology so far."""
    spent = 0.0
    for process in psutil.process_iter():
        try:
            if process.environ().get("HERONPY_HOME") == home:
                spent += sum(process.cpu_times()[:2])
        except psutil.Error:
            continue
    return spent


def idle_share(kind: str) -> float:
    """Percent of a core that an idle instance takes; the mean of ten."""
    os.environ[SETTING] = kind
    try:
        return statistics.mean(idle()[1])
    finally:
        del os.environ[SETTING]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--without-idle", action="store_true", help="leave idle instances out")
    options = parser.parse_args()
    print(machine())
    runs: dict[str, list[Run]] = {"zmq": [], "unix": [], "zmq again": []}
    shares: dict[str, list[float]] = {side: [] for side in runs}
    for number in range(options.rounds):
        for side in list(runs) if number % 2 == 0 else reversed(list(runs)):
            kind = side.partition(" ")[0]
            runs[side].append(paced(kind, options.seconds))
            if not options.without_idle:
                shares[side].append(idle_share(kind))
    for side, each in runs.items():
        over_relay = [run.since_emitted / run.relay for run in each]
        print(f"{side}: p50 since the emit, microseconds: {spread([run.since_emitted for run in each])}")
        print(f"{side}: p50 since it was due, microseconds: {spread([run.since_due for run in each])}")
        print(f"{side}: p50 since the emit over the relay's: {spread(over_relay)}; goal: at most 6")
        print(f"{side}: CPU-microseconds per tuple: {spread([run.cpu for run in each])}; goal: at most 170")
        if shares[side]:
            print(f"{side}: idle instance, percent of a core: {spread(shares[side])}")
    print(f"relay: p50, microseconds: {spread([run.relay for each in runs.values() for run in each])}")
    for first, second in (("zmq", "unix"), ("zmq", "zmq again")):
        a, b = runs[first], runs[second]
        latency = ratios([run.since_emitted for run in a], [run.since_emitted for run in b])
        print(f"{first} / {second}, p50 since the emit: {spread(latency)}")
        print(f"{first} / {second}, CPU per tuple: {spread(ratios([r.cpu for r in a], [r.cpu for r in b]))}")
        if shares[first]:
            print(f"{first} / {second}, idle instance: {spread(ratios(shares[first], shares[second]))}")


if __name__ == "__main__":
    main()
