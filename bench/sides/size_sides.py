"""Size: bolts that compute, instances that wait, more tasks, more containers, and plans of many tasks."""

from __future__ import annotations

import time

from bench.large_plans import costs
from bench.sides import Sample, Side
from bench.sides.engine_run import EngineRun

#: seconds before anything is measured
SETTLING = 3.0
#: seconds after which a topology without input rests: what has had nothing for long is asked less often
IDLE_AFTER = 25.0


class Counted(Side):
    """Tuples a second at the bolts of a topology, and what one costs."""

    def __init__(self, name: str, file: str, *arguments: str) -> None:
        super().__init__(name)
        self._file, self._arguments = file, arguments

    def run(self, quick: bool) -> Sample:
        with EngineRun(self._file, *self._arguments) as engine:
            engine.waited(lambda: engine.seen().seen or None)
            time.sleep(SETTLING)
            with engine.spent() as spent:
                time.sleep(1.0 if quick else 4.0)
            engine.finish()
        return Sample({"rate": spent.tuples / spent.seconds, "cpu": 1e6 * spent.cpu / spent.tuples})


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
            time.sleep(2.0 if quick else IDLE_AFTER)
            cpu, begun = engine.cpu(), time.monotonic()
            time.sleep(2.0 if quick else 10.0)
            share = 100 * (engine.cpu() - cpu) / (time.monotonic() - begun)
            memory = engine.memory() / instances
        values = {"core share": share, "memory": memory, "start": started}
        return Sample(values, facts={"instances": instances})


class LargePlan(Side):
    """What a plan of so many tasks costs: KiB in the state tree, CPU-milliseconds to build one task."""

    def __init__(self, name: str, tasks: int) -> None:
        super().__init__(name)
        self._tasks = tasks

    def run(self, quick: bool) -> Sample:
        tasks = self._tasks // 10 if quick else self._tasks
        return Sample(dict(costs(tasks, rounds=1 if quick else 3)), facts={"tasks": tasks})
