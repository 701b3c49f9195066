"""Event time: NEXMark on `local` and on peers, and what windows that overlap cost."""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from bench.peers.environments import ENVIRONMENTS, ROOT
from bench.sides import Sample, Side, WrongResult
from bench.sides.word_sides import output_of
from heronpy import Pipeline
from heronpy.nexmark import Auction, Bid, GeneratorConfig, Person
from heronpy.pipeline import Window, Windows, agg, sinks, sliding, sources, tumbling
from heronpy.pipeline.agg import Aggregate

#: events of NEXMark; a cost is per event, so that a peer which takes long may do with fewer
EVENTS = 100_000
FEW_EVENTS = 20_000
_KINDS = {Person: "person", Auction: "auction", Bid: "bid"}


@cache
def _events_file(events: int) -> Path:
    """The events as plain tuples, (kind, fields …), which every Python reads."""
    file = ROOT / "build" / "words" / f"nexmark-{events}.pickle"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        plain = [(_KINDS[type(one)], *one) for one in GeneratorConfig(events=events).generate()]
        file.write_bytes(pickle.dumps(plain))
    return file


@cache
def expected(query: str, events: int) -> Counter[tuple[Any, ...]]:
    """What the oracle of the tests finds, which shares no code with any engine; times as milliseconds."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.nexmark import window_oracles

    oracle: Callable[[Any], list[Any]] = getattr(window_oracles, query.lower())
    found = oracle(list(GeneratorConfig(events=events).generate()))
    return Counter(plain(one) for one in found)


def plain(result: Any) -> tuple[Any, ...]:
    """A result in a form in which all sides can be compared."""
    return tuple(int(1000 * each.timestamp()) if hasattr(each, "timestamp") else each for each in result)


class LocalQuery(Side):
    """A query on the runner `local`, in a process of its own; events are there before the clock starts."""

    def __init__(self, name: str, query: str) -> None:
        super().__init__(name)
        self._query = query

    def run(self, quick: bool) -> Sample:
        events = FEW_EVENTS if quick else EVENTS
        command = [sys.executable, "-m", "bench.sides.local_query", self._query, str(_events_file(events))]
        return _checked(self.name, self._query, events, json.loads(output_of(command, {})))


class PeerQuery(Side):
    """A query by a program of a peer: EVENTS-FILE QUERY."""

    def __init__(self, name: str, peer: str, query: str, events: int = EVENTS) -> None:
        super().__init__(name)
        self._events = events
        self._environment = ENVIRONMENTS[peer]
        self._program, self._query = f"{peer}_nexmark.py", query

    def prepare(self) -> None:
        self._environment.require()

    def run(self, quick: bool) -> Sample:
        events = FEW_EVENTS if quick else self._events
        command = [*self._environment.command(self._program), str(_events_file(events)), self._query]
        lines = output_of(command, {}).splitlines()
        said = json.loads(next(line for line in reversed(lines) if line.startswith("{")))
        return _checked(self.name, self._query, events, said)


def _checked(name: str, query: str, events: int, said: dict[str, Any]) -> Sample:
    found = Counter(tuple(one) for one in said["results"])
    if found != expected(query, events):
        off = (found - expected(query, events)).total() + (expected(query, events) - found).total()
        msg = f"{name}: {found.total()} results of {events} events, {off} of them not as the oracle has them"
        raise WrongResult(msg)
    values = {"rate": events / said["seconds"], "cpu": 1e6 * said["cpu_seconds"] / events}
    return Sample(values, facts={"events": events, "versions": said["versions"]})


class Windowed(Side):
    """Counts by key in windows of event time, over records in memory, in a process of its own."""

    def __init__(self, name: str, form: str) -> None:
        super().__init__(name)
        self._form = form

    def run(self, quick: bool) -> Sample:
        records = 20_000 if quick else 300_000 if self._form == "tumbling" else 100_000
        command = [sys.executable, "-m", "bench.sides.event_time_sides", self._form, str(records)]
        done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)
        values: dict[str, float] = json.loads(done.stdout)
        return Sample(values)


KEYS = 100
#: form → (window, records a second of event time)
FORMS: dict[str, tuple[Any, int]] = {
    "tumbling": (lambda: tumbling("30m"), 20),
    "sliding": (lambda: sliding("30m", every="5s"), 20),
    "slices": (lambda: sliding("10s", every="100ms"), 10_000),
    "copies": (lambda: Copies(), 10_000),
}


def _windows(form: str, records: int) -> dict[str, float]:
    """CPU-microseconds a record; of sliding windows also the combines per key and slide."""
    window, rate = FORMS[form]
    rows = [(number % KEYS, number * 1000 // rate) for number in range(records)]
    gc.collect()
    gc.freeze()
    begun = time.process_time()
    results = _count(rows, window(), agg.count())
    values = {"cpu": 1e6 * (time.process_time() - begun) / records, "results": float(results)}
    if form == "sliding":
        combined: Counter[str] = Counter()
        values["combines"] = _count(rows, window(), _counting(combined)) and combined.total() / results
    return values


def _count(rows: list[tuple[int, int]], window: Windows, how: Aggregate[Any, int, int]) -> int:
    p, found = Pipeline("windows"), sinks.collected()
    timed = p.read(sources.items(rows)).event_time(lambda row: row[1], unit="ms", lag="0s")
    timed.key_by(lambda row: row[0]).window(window).aggregate(how).write(found)
    p.run()
    return len(found.records)


def _counting(combined: Counter[str]) -> Aggregate[Any, int, int]:
    """A count that counts how often accumulators are combined or deducted."""

    def called(what: str, result: int) -> int:
        combined[what] += 1
        return result

    return Aggregate(
        "counting",
        create=int,
        add=lambda count, _: count + 1,
        finish=lambda count: count,
        combine=lambda a, b: called("combine", a + b),
        deduct=lambda a, b: called("deduct", a - b),
    )


class Copies(Windows):
    """The naive way: windows that are not known to overlap, so that each record is added to every one."""

    def assign(self, value: Any, time: datetime) -> Iterable[Window]:
        return _OVERLAPPING.assign(value, time)

    def bounds(self, value: Any, time: int) -> Sequence[tuple[int, int]]:
        return _OVERLAPPING.bounds(value, time)


_OVERLAPPING = sliding("10s", every="100ms")


if __name__ == "__main__":
    print(json.dumps(_windows(sys.argv[1], int(sys.argv[2]))))
