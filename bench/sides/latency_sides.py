"""Latency by an open loop: the clock of a tuple starts when it was due, whatever delayed it."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections import Counter

from bench.histogram import Histogram
from bench.sides import Sample, Side
from bench.sides.engine_run import EngineRun
from heronpy.kernel.machine.short_waits import end_waits_on_time

#: when a message was due, and when it was sent
STAMP = struct.Struct("dd")
#: tasks of the bolt of a fan, each of which gets every tuple
FAN = 100
#: seconds until start-up is over, once the first tuples have come
SETTLING = 2.0
#: most tuples a second that a hop pair has sustained in this run; measured when it is first asked for
_SUSTAINED: dict[tuple[str, ...], float] = {}


class Latency(Side):
    """A shape of topologies/paced.py at a rate, or at a share of the rate that the shape sustains."""

    def __init__(
        self,
        name: str,
        shape: str,
        rate: float = 0.0,
        *settings: str,
        share: float = 0.0,
        relay: bool = False,
    ) -> None:
        super().__init__(name)
        self._shape, self._rate, self._share = shape, rate, share
        self._settings, self._relay = settings, relay

    def run(self, quick: bool) -> Sample:
        rate = self._share * sustained(self._settings, quick) if self._share else self._rate
        seconds = 2.0 if quick else 5.0
        # before and after, so that neither takes time from the other
        relay = relay_histograms(seconds / 4) if self._relay else ()
        with EngineRun("paced.py", str(rate), self._shape, settings=self._settings) as engine:
            engine.waited(lambda: engine.noted("due-*.json") or None)
            time.sleep(SETTLING)
            before = _noted(engine)
            with engine.spent() as spent:
                time.sleep(seconds)
            after = _noted(engine)
            engine.finish(copies=FAN if self._shape == "fan" else 1)
        due, emitted = (Histogram((late - early).items()) for early, late in zip(before, after, strict=True))
        values = {**due.summary(), "p50 ms": due.percentile(50) / 1000, "emit p50": emitted.percentile(50)}
        values |= {"rate": spent.tuples / spent.seconds, "cpu": 1e6 * spent.cpu / max(spent.tuples, 1)}
        if relay:
            again = relay_histograms(seconds / 4)
            for own, bare, more, name in zip((due, emitted), relay, again, ("due", "emit"), strict=True):
                bare.merge(more)
                values[f"relay {name} p50"] = bare.percentile(50)
                values[f"{name} over relay"] = own.percentile(50) / bare.percentile(50)
        return Sample(values, due, {"asked rate": rate})


def _noted(engine: EngineRun) -> tuple[Counter[int], Counter[int]]:
    """Tuples by microseconds: since due, since emitted; of all tasks."""
    found = []
    for kind in ("due", "emitted"):
        every: Counter[int] = Counter()
        for counts in engine.noted(f"{kind}-*.json"):
            every.update({int(micros): count for micros, count in counts.items()})
        found.append(every)
    return found[0], found[1]


def sustained(settings: tuple[str, ...], quick: bool) -> float:
    """Tuples a second of a hop pair whose spout emits whenever it is asked."""
    if settings not in _SUSTAINED:
        with EngineRun("paced.py", "max", "hop", settings=settings) as engine:
            engine.waited(lambda: engine.noted("due-*.json") or None)
            time.sleep(SETTLING)
            with engine.spent() as spent:
                time.sleep(2.0 if quick else 5.0)
            engine.finish()
        _SUSTAINED[settings] = spent.tuples / spent.seconds
    return _SUSTAINED[settings]


def relay_histograms(seconds: float, rate: int = 1000) -> tuple[Histogram, Histogram]:
    """A sends a message a millisecond to B, which hands it on to C: three processes and nothing else.

    Latencies since a message was due, and since it was sent. A wakes as late as a spout does.
    """
    a, b_in = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    b_out, c = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not (sender := os.fork()):
        _send(a, int(seconds * rate), rate)
    if not (relay := os.fork()):
        while message := b_in.recv(100):
            b_out.send(message)
        os._exit(0)
    for each in (a, b_in, b_out):
        each.close()
    since_due, since_sent, poll = Histogram(), Histogram(), select.poll()
    poll.register(c, select.POLLIN)
    while poll.poll() and (message := c.recv(100)) and message != b"end":
        now = time.monotonic()
        due, sent = STAMP.unpack_from(message)
        since_due.record(int(1e6 * (now - due)))
        since_sent.record(int(1e6 * (now - sent)))
    c.close()
    for child in (sender, relay):
        os.waitpid(child, 0)
    return since_due, since_sent


def _send(out: socket.socket, count: int, rate: int) -> None:
    end_waits_on_time()
    due = time.monotonic()
    for _ in range(count):
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
        out.send(STAMP.pack(due, time.monotonic()) + bytes(50))
    out.send(b"end")
    out.send(b"")
    os._exit(0)
