"""A query of NEXMark over generated events, by a runner: how many results, how long, how much CPU time."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from heronpy.cli.reading.topologies import open_state
from heronpy.cli.reading.watched import PolledTopologies
from heronpy.cli.submitting.foreground import Watching
from heronpy.cli.submitting.starting import start, take_down
from heronpy.cli.submitting.submission import prepare
from heronpy.container.folders import work_folder
from heronpy.kernel.config import Config
from heronpy.kernel.machine.cpu import cpu_seconds_of
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.loading import file_process
from heronpy.loading.exchange import LoadRequest, RunCost, RunRequest
from heronpy.nexmark.bench.bench_folder import BenchFolder

PIPELINE = "heronpy.nexmark.bench.nexmark_pipeline"
NAME = "nexmark"
#: seconds between two looks whether all events are generated, or the topology has finished
LOOK = 0.01


class NexmarkCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of a query took. The clock runs from the first record to the last visible result."""

    query: str
    runner: str
    events: int
    generators: int
    results: int
    seconds: float
    #: of all processes of the run on this machine, while the clock ran
    cpu_seconds: float
    #: whether events were generated before the clock was started, or by the run itself
    generation: Literal["apart", "inside"]
    #: of the slowest generator; None where it is inside
    generation_seconds: float | None


class NexmarkRun(NamedTuple):
    """What is to be run."""

    query: str
    events: int
    generators: int
    runner: str

    def measure(self, config: Config) -> NexmarkCost:
        """Run it until the input has ended."""
        as_topology = installed().runner(self.runner).as_topology
        with tempfile.TemporaryDirectory(prefix="heronpy-nexmark-") as path:
            folder = BenchFolder(Path(path))
            cost = self._on_engine(config, folder) if as_topology else self._by_runner(config, folder)
            generated = folder.generation()
        return NexmarkCost(
            query=self.query,
            runner=self.runner,
            events=self.events,
            generators=self.generators,
            results=cost.written,
            seconds=cost.seconds,
            cpu_seconds=cost.cpu_seconds,
            generation="apart" if generated else "inside",
            generation_seconds=max(generated, default=None),
        )

    def _by_runner(self, config: Config, folder: BenchFolder) -> RunCost:
        """As `heronpy run` does it. What a runner in other processes reads must be generated there."""
        generation = "here" if self.runner == "local" else "inside"
        source = file_process.source_of(_file(), self._arguments(folder, generation))
        wanted = RunRequest(
            load=LoadRequest(source, {**config.topology, **config.component}),
            settings=config.to_plain(),
            parent=os.getpid(),
            runner=self.runner,
            measured=True,
        )
        outcome = file_process.run(wanted, seconds=None, grace=config.number("kill.timeout"))
        if not outcome.costs:
            raise KeyboardInterrupt  # the run was asked to stop, and did
        return outcome.costs[0]

    def _on_engine(self, config: Config, folder: BenchFolder) -> RunCost:
        """As `heronpy run --runner engine` does it, but that the tasks wait for the clock."""
        registry = installed()
        (prepared,) = prepare(config, registry, _file(), self._arguments(folder, "held"), None)
        with open_state(config, registry) as state:
            start(config, state, prepared, wait=True)
            try:
                return self._timed(config, state, folder)
            finally:
                take_down(config, state, NAME)

    def _timed(self, config: Config, state: StateManager, folder: BenchFolder) -> RunCost:
        mark = os.fsencode(work_folder(config, NAME))
        with _looking(state) as looks:
            while len(folder.generation()) < self.generators and next(looks):
                time.sleep(LOOK)
            cpu, began = cpu_seconds_of(lambda line: mark in line), time.monotonic()
            folder.start()
            while next(looks):
                time.sleep(LOOK)
            seconds = time.monotonic() - began
            return RunCost(folder.results(), seconds, cpu_seconds_of(lambda line: mark in line) - cpu)

    def _arguments(self, folder: BenchFolder, generation: str) -> list[str]:
        return [self.query, str(self.events), str(self.generators), str(folder.path), generation]


@contextlib.contextmanager
def _looking(state: StateManager) -> Iterator[Iterator[bool]]:
    """Looks at the topology: whether it goes on. A step that fails is raised."""
    watching = Watching(state, pipelines={NAME})

    def looks(watched: PolledTopologies) -> Iterator[bool]:
        while True:
            over = watching.is_over(watched)
            if watching.failure is not None:
                raise watching.failure
            yield not over

    with PolledTopologies(state, [NAME]) as watched:
        yield looks(watched)


def _file() -> str:
    found = importlib.util.find_spec(PIPELINE)
    assert found is not None
    assert found.origin is not None
    return found.origin
