"""Size: bolts that compute, instances that wait, the same tasks in more containers."""

from __future__ import annotations

import time

from bench.sides import Sample, Side
from bench.sides.engine_run import EngineRun
from heronpy.cli.measuring.word_progress import WordProgress

#: seconds before anything is measured
SETTLING = 3.0


class Counted(Side):
    """Tuples a second at the bolts of a topology, and what one costs."""

    def __init__(self, name: str, file: str, *arguments: str) -> None:
        super().__init__(name)
        self._file, self._arguments = file, arguments

    def run(self, quick: bool) -> Sample:
        with EngineRun(self._file, *self._arguments) as engine:
            engine.waited(lambda: _seen(engine, time.monotonic()) or None)
            time.sleep(SETTLING)
            cpu, begun = engine.cpu(), time.monotonic()
            time.sleep(1.0 if quick else 4.0)
            cpu, ended = engine.cpu() - cpu, time.monotonic()
            time.sleep(0.3)  # the last words are written down
            tuples = _seen(engine, ended) - _seen(engine, begun)
        return Sample({"rate": tuples / (ended - begun), "cpu": 1e6 * cpu / tuples})


def _seen(engine: EngineRun, moment: float) -> float:
    """Tuples that all tasks had seen at this moment."""
    return WordProgress.read(*engine.notes.glob("seen-*")).at(moment)


class Idle(Side):
    """A topology that has nothing to do: its share of a core, in per cent, and memory of each instance."""

    def __init__(self, name: str, instances: int, *settings: str) -> None:
        super().__init__(name)
        self._instances, self._settings = instances, settings

    def run(self, quick: bool) -> Sample:
        instances = 20 if quick else self._instances
        begun = time.monotonic()
        with EngineRun("idle.py", str(instances), settings=self._settings) as engine:
            started = time.monotonic() - begun
            time.sleep(5.0)  # start-up is over
            cpu, begun = engine.cpu(), time.monotonic()
            time.sleep(2.0 if quick else 10.0)
            share = 100 * (engine.cpu() - cpu) / (time.monotonic() - begun)
            memory = engine.memory() / instances
        values = {"core share": share, "memory": memory, "start": started}
        return Sample(values, facts={"instances": instances})
