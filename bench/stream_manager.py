"""Forwarding, per CPU-second of the Stream Manager: the production loop against one that opens every batch.

python -m bench.stream_manager [--rounds 10] [--frames 4000]
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from bench.arithmetic import alternate, machine, ratios, spread
from heronpy.instances.output.codec import PlainCodec
from heronpy.kernel.flow.frame import DATA, Prefix, route, seal, unseal
from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.machine.addresses import process_identity
from heronpy.kernel.plans import (
    Component,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    LogicalPlan,
    PhysicalPlan,
    PlacedTask,
)
from heronpy.kernel.transport import Reactor, Transport
from heronpy.stream_manager.forwarder import Forwarder

SPOUT, BOLTS = 1, (2, 3)
ROWS = 1000
#: frames that may be under way between driver and forwarder
WINDOW = 128


def plan() -> PhysicalPlan:
    words = Component("words", "spout", "x.Words", 1, outputs=(DeclaredStream("default", ("word",)),))
    edge = Input("words", "default", DeclaredGrouping("fields", ("word",)))
    count = Component("count", "bolt", "x.Count", 2, inputs=(edge,))
    tasks = (
        PlacedTask(SPOUT, "words", 0, 1),
        *(PlacedTask(task, "count", n, 1) for n, task in enumerate(BOLTS)),
    )
    owners = tuple(BOLTS[group % 2] for group in range(256))
    return PhysicalPlan(
        "bench", 1, LogicalPlan("bench", (words, count)), tasks, (("words", "default"),), {"count": owners}
    )


class EagerForwarder(Forwarder):
    """The same loop, but it decodes, routes and encodes every tuple."""

    _codec = PlainCodec()
    _owners = plan().key_groups["count"]

    def _forward(self, parts: list[bytes]) -> None:
        _, head, payload = parts
        route(head)
        prefix = unseal(head, payload)
        batches: dict[int, list[tuple[str, ...]]] = {}
        for row in self._codec.decode(payload):
            owner = self._owners[key_group(row[0], len(self._owners))]
            batches.setdefault(owner, []).append(tuple(row))
        for owner, rows in batches.items():
            sealed = seal(prefix._replace(destination=owner, tuples=len(rows)), self._codec.encode(rows))
            self.frames += 1
            if not self._exits[owner].send(*sealed):
                self._hold(self._exits[owner])


def forward(kind: type[Forwarder], folder: str, pipe: Connection) -> None:
    """The forwarder's process: tells its CPU seconds when asked."""
    reactor = Reactor()
    with Transport() as transport:
        instances = transport.router_ipc(f"{folder}/data")
        forwarder = kind(reactor, instances, transport.router_ipc(f"{folder}/peers"), 1)
        forwarder.use_plan(plan())
        for task in BOLTS:
            forwarder.admit(task, 1, process_identity(task, 1), [task])

        def on_command() -> None:
            if pipe.recv() == "stop":
                reactor.stop()
            else:
                pipe.send(time.process_time())

        reactor.register(pipe.fileno(), on_command)
        pipe.send("ready")
        reactor.run()


def frames() -> list[tuple[bytes, bytes]]:
    """Batches as an instance makes them: grouped already, one frame per receiver."""
    codec = PlainCodec()
    made = []
    for number in range(16):
        owner = BOLTS[number % 2]
        rows: list[tuple[str]] = []
        word = number * 1_000_000
        while len(rows) < ROWS:
            text = f"word{word}"
            word += 1
            if plan().key_groups["count"][key_group(text, 256)] == owner:
                rows.append((text,))
        made.append(seal(Prefix(DATA, owner, SPOUT, 0, ROWS, 1, 1, 0, 0), codec.encode(rows)))
    return made


def tuples_per_cpu_second(kind: type[Forwarder], count: int, batches: list[tuple[bytes, bytes]]) -> float:
    folder = tempfile.mkdtemp(prefix="hb-")
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=forward, args=(kind, folder, there))
    process.start()
    here.recv()
    with Transport() as transport:
        spout = transport.dealer_ipc(f"{folder}/data", process_identity(SPOUT, 1))
        bolts = [transport.dealer_ipc(f"{folder}/data", process_identity(task, 1)) for task in BOLTS]
        reactor = Reactor()
        arrived = 0

        def on_frame(index: int) -> None:
            nonlocal arrived
            while (parts := bolts[index].receive()) is not None:
                arrived += unseal(parts[0], parts[1]).tuples

        reactor.register(bolts[0], lambda: on_frame(0))
        reactor.register(bolts[1], lambda: on_frame(1))
        time.sleep(0.2)  # both receivers are connected
        here.send("cpu")
        before = here.recv()
        sent = 0
        while arrived < count * ROWS:
            while (
                sent < count
                and sent * ROWS - arrived < WINDOW * ROWS
                and spout.send(batches[sent % len(batches)])
            ):
                sent += 1
            reactor.turn(0.001)
        here.send("cpu")
        spent = here.recv() - before
        assert arrived == count * ROWS, "every tuple is accounted for"
        reactor.close()
    here.send("stop")
    process.join()
    for path in Path(folder).iterdir():
        path.unlink()
    Path(folder).rmdir()
    return arrived / float(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--frames", type=int, default=4000)
    options = parser.parse_args()
    batches = frames()
    print(machine())
    lazy, eager = alternate(
        options.rounds,
        lambda: tuples_per_cpu_second(Forwarder, options.frames, batches),
        lambda: tuples_per_cpu_second(EagerForwarder, options.frames // 10, batches),
    )
    print(f"lazy   tuples per CPU-second: {spread(lazy)}")
    print(f"eager  tuples per CPU-second: {spread(eager)}")
    pairs = ratios(lazy, eager)
    print(f"lazy / eager: {spread(pairs)}; goal: at least 10")
    raise SystemExit(0 if statistics.median(pairs) >= 10 else 1)


if __name__ == "__main__":
    main()
