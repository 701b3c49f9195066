"""How many words a second this machine counts, from a spout to a bolt, and what a word costs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec

from heronpy.bench_words import Tally, WordBlock, merged
from heronpy.cli.measuring.word_progress import WordProgress
from heronpy.cli.reading.topologies import open_state
from heronpy.cli.submitting.starting import start, take_down
from heronpy.cli.submitting.submission import prepare
from heronpy.cli.verbs.version import engine_version
from heronpy.container.folders import work_folder
from heronpy.kernel.config import Config
from heronpy.kernel.errors import HeronError, UsageError, UserError
from heronpy.kernel.machine.cpu import cpu_seconds_of
from heronpy.kernel.plugin.opening import installed

T = TypeVar("T")

NAME = "bench"
#: what columns need, of the extra [columns]
COLUMNS = "pyarrow"
#: seconds measured, unless the user says otherwise
MEASURED = 10.0
#: seconds before the measurement begins, at the least: by then batches and credit have found their size
WARM_UP = 2.0
#: seconds between two looks at the bolt's progress
LOOK = 0.02
#: seconds without any progress after which a run is given up
PATIENCE = 180.0


class WordCost(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, and of what."""

    words_per_second: float
    #: of all processes of the topology: instances, Stream Managers, Topology Master and executors
    cpu_microseconds_per_word: float
    unit: str
    guarantee: str
    fuse: str
    link: str
    #: of the spout, and of the bolt
    tasks: int
    keys: int
    distribution: Literal["uniform", "zipf"]
    #: measured
    seconds: float
    cpu_seconds: float
    words: int
    #: whether every count of the whole run, warm-up and all, was what the oracle says
    checked: bool
    tally: Tally
    versions: dict[str, str]


class Counted(NamedTuple):
    """What all tasks said at the end: which words the spouts emitted, and the sums of the bolts' counts."""

    spans: tuple[range, ...]
    tally: Tally


class Look(NamedTuple):
    """At one moment: CPU time of all processes so far."""

    at: float
    cpu: float


class WordCount(NamedTuple):
    """What is to be counted, and how."""

    unit: str
    guarantee: str
    block: WordBlock
    #: of the spout, and of the bolt
    tasks: int = 1

    def measure(self, config: Config, seconds: float) -> WordCost:
        """Run the word count until that much has been measured, check its counts, and take it down."""
        if self.unit == "columns" and importlib.util.find_spec(COLUMNS) is None:
            msg = f"words in columns need {COLUMNS}, which is not installed"
            raise UsageError(msg, hint="pip install 'heron-py[columns]'")
        registry = installed()
        with tempfile.TemporaryDirectory(prefix="heronpy-words-") as path:
            folder = Path(path)
            (prepared,) = prepare(config, registry, _file(), self._arguments(folder), NAME)
            with open_state(config, registry) as state:
                start(config, state, prepared, wait=True)
                try:
                    looks = self._measured(folder, work_folder(config, NAME), seconds)
                    counted = self._stopped(folder)
                finally:
                    take_down(config, state, NAME)
            return self._cost(config, looks, WordProgress.of_all(folder, self.tasks), counted)

    def _measured(self, folder: Path, work: Path, seconds: float) -> tuple[Look, Look]:
        """The first look is taken when the words of the whole block have been seen."""
        mark, pass_, begun = os.fsencode(work), max(self.block.keys, 1_000_000), time.monotonic()

        def progress() -> WordProgress:
            return WordProgress.of_all(folder, self.tasks)

        def warm() -> bool | None:
            return (progress().seen >= pass_ and time.monotonic() >= begun + WARM_UP) or None

        _waited(warm, lambda: progress().seen)
        first = _look(mark)
        time.sleep(seconds)
        last = _look(mark)
        _waited(lambda: progress().until >= last.at or None, lambda: None)
        return first, last

    def _stopped(self, folder: Path) -> Counted:
        """Ends the input and waits for what every task says of the whole run."""
        (folder / "stop").touch()

        def written() -> Counted | None:
            tallies, spans = sorted(folder.glob("tally-*")), sorted(folder.glob("emitted-*"))
            if len(tallies) < self.tasks or len(spans) < self.tasks:
                return None
            return Counted(
                tuple(range(*msgspec.json.decode(file.read_bytes(), type=tuple[int, int])) for file in spans),
                merged(msgspec.json.decode(file.read_bytes(), type=Tally) for file in tallies),
            )

        return _waited(written, lambda: WordProgress.of_all(folder, self.tasks).seen)

    def _cost(
        self, config: Config, looks: tuple[Look, Look], progress: WordProgress, counted: Counted
    ) -> WordCost:
        first, last = looks
        words = progress.at(last.at) - progress.at(first.at)
        cpu, seconds = last.cpu - first.cpu, last.at - first.at
        expected = self.block.expected(*counted.spans)
        if counted.tally != expected:
            msg = f"the counts are wrong: {counted.tally}, but these words give {expected}"
            raise HeronError(msg)
        return WordCost(
            words_per_second=words / seconds,
            cpu_microseconds_per_word=1e6 * cpu / max(words, 1),
            unit=self.unit,
            guarantee=self.guarantee,
            fuse=str(config.get("topology.fuse", "none")),
            link=config.text("transport.local"),
            tasks=self.tasks,
            keys=self.block.keys,
            distribution="zipf" if self.block.zipf else "uniform",
            seconds=seconds,
            cpu_seconds=cpu,
            words=round(words),
            checked=True,
            tally=counted.tally,
            versions=_versions(),
        )

    def _arguments(self, folder: Path) -> list[str]:
        distribution = "zipf" if self.block.zipf else "uniform"
        return [
            *(str(folder), self.unit, self.guarantee),
            *(str(self.block.keys), distribution, str(self.tasks)),
        ]


def _look(mark: bytes) -> Look:
    return Look(time.monotonic(), cpu_seconds_of(lambda line: mark in line))


def _waited(found: Callable[[], T | None], moved: Callable[[], object]) -> T:
    """What is found at last; given up when nothing moves."""
    before, since = moved(), time.monotonic()
    while (result := found()) is None:
        if (now := moved()) != before:
            before, since = now, time.monotonic()
        if time.monotonic() > since + PATIENCE:
            msg = f"no word was counted for {PATIENCE:.0f} s"
            raise UserError(msg, hint=f"heronpy logs {NAME}")
        time.sleep(LOOK)
    return result


def _versions() -> dict[str, str]:
    found = {"heronpy": engine_version(), "python": platform.python_version()}
    for package in ("pyzmq", "pyarrow"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _file() -> str:
    found = importlib.util.find_spec("heronpy.bench_topology")
    assert found is not None
    assert found.origin is not None
    return found.origin
