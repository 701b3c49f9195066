"""A topology of bench/topologies on a cluster of this machine, for as long as a block lasts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from bench.peers.environments import ROOT
from bench.sides import WrongResult
from bench.sides.word_sides import HERONPY, output_of
from heronpy.cli.measuring.word_progress import WordProgress
from heronpy.kernel.machine.cpu import cpu_seconds_of
from heronpy.kernel.machine.processes import processes

T = TypeVar("T")

TOPOLOGIES = ROOT / "bench" / "topologies"
#: seconds after which a topology that shows nothing is given up
PATIENCE = 120.0
LOOK = 0.05


@dataclass
class Spent:
    """In one interval: its length, CPU time of all processes, and tuples that all counting bolts saw."""

    seconds: float = 0.0
    cpu: float = 0.0
    tuples: float = 0.0


class EngineRun:
    """Submitted into a home of its own, killed at the end; `notes` is a folder for what its tasks write."""

    def __init__(self, file: str, *arguments: str, settings: tuple[str, ...] = ()) -> None:
        self._file, self._arguments, self._settings = file, arguments, settings

    def __enter__(self) -> EngineRun:
        self._folder = tempfile.TemporaryDirectory(prefix="hb-")
        self.notes = Path(self._folder.name) / "notes"
        self.notes.mkdir()
        self._home = {"HERONPY_HOME": f"{self._folder.name}/home"}
        settings = ("submit.timeout=5m", *self._settings)
        assigned = [part for setting in settings for part in ("--set", setting)]
        file = str(TOPOLOGIES / self._file)
        try:
            output_of([HERONPY, "submit", *assigned, file, str(self.notes), *self._arguments], self._home)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        environment = {**os.environ, **self._home}
        subprocess.run([HERONPY, "kill", "--all"], env=environment, check=False, capture_output=True)
        self._folder.cleanup()

    def cpu(self) -> float:
        """CPU seconds of all its processes so far."""
        mark = os.fsencode(self._folder.name)
        return cpu_seconds_of(lambda line: mark in line)

    def seen(self) -> WordProgress:
        """Of all tasks that count (topologies/counting.py)."""
        return WordProgress.read(*self.notes.glob("seen-*"))

    @contextmanager
    def spent(self) -> Iterator[Spent]:
        """What the block took; CPU time and tuples are those of the same interval, which the block is."""
        found, cpu, begun = Spent(), self.cpu(), time.monotonic()
        yield found
        found.cpu, ended = self.cpu() - cpu, time.monotonic()
        self.waited(lambda: self.seen().until >= ended or None)  # the last tuples are written down
        seen = self.seen()
        found.seconds, found.tuples = ended - begun, seen.at(ended) - seen.at(begun)

    def memory(self) -> float:
        """Proportional memory of all its processes, in MB."""
        mark, found = os.fsencode(self._folder.name), 0.0
        for process in processes():
            try:
                if mark in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                    found += int(re.findall(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)[0]) / 1024
            except (OSError, IndexError):
                continue
        return found

    def finish(self, *, copies: int = 1) -> None:
        """End the sources; WrongResult unless so many copies of what they emitted have been received."""
        (self.notes / "stop").touch()
        received = self.waited(self._all_received)
        expected = [copies * sum(part) for part in zip(*self.noted("sent-*"), strict=True)]
        found = [sum(part) for part in zip(*received, strict=True)]
        if found[:2] != expected[:2]:
            msg = f"{self._file} received {found[:2]} (tuples, and a sum over them) instead of {expected[:2]}"
            raise WrongResult(msg)

    def _all_received(self) -> list[Any] | None:
        """What every task has received; None until all of them have seen the end of their input."""
        found = self.noted("received-*")
        return found if found and len(found) == found[0][2] else None

    def waited(self, found: Callable[[], T | None]) -> T:
        until = time.monotonic() + PATIENCE
        while (result := found()) is None:
            if time.monotonic() > until:
                msg = f"{self._file} has shown nothing for {PATIENCE:.0f} s"
                raise TimeoutError(msg)
            time.sleep(LOOK)
        return result

    def noted(self, pattern: str) -> list[Any]:
        """What tasks have written so far as JSON, one file each."""
        return [json.loads(file.read_text()) for file in sorted(self.notes.glob(pattern))]
