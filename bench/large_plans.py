"""What a plan of many tasks costs: its size in the state tree, making and reading it, and building a task.

python -m bench.large_plans [--tasks 100 1000 10000] [--rounds 5]

Half of the tasks are spouts, half are bolts that read them by key: every spout task sends to every bolt task.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

from bench.arithmetic import machine
from heronpy import Bolt, Spout
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.task.build import build_task
from heronpy.kernel.master.knowledge.tuple_losses import TupleLosses
from heronpy.kernel.plans import (
    Component,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    next_plan,
    physical_plan,
)
from heronpy.kernel.tree.update import Update
from heronpy.plugins.packing.hooks import heron_resource_managers
from heronpy.testing.packing import initialized

PER_CONTAINER = 50


class Words(Spout):
    outputs = ["word"]


class Count(Bolt):
    pass


class NoLink:
    """Frames go nowhere."""

    stopping = False

    def send(self, prefix: bytes, payload: bytes) -> None:
        pass

    def pump(self, seconds: float) -> None:
        pass


def topology(tasks: int) -> LogicalPlan:
    by_word = Input("words", "default", DeclaredGrouping("fields", ("word",)))
    outputs = (DeclaredStream("default", ("word",)),)
    return LogicalPlan(
        "large",
        (
            Component("words", "spout", "m.Words", tasks // 2, outputs=outputs),
            Component("count", "bolt", "m.Count", tasks // 2, inputs=(by_word,)),
        ),
        {"topology.stmgrs": max(1, tasks // PER_CONTAINER)},
        key_groups=max(256, 2 * tasks),
    )


def milliseconds(rounds: int, work: Callable[[], object]) -> float:
    """Median CPU time of one call."""
    taken = []
    for _ in range(rounds):
        gc.collect()
        begun = time.process_time()
        work()
        taken.append((time.process_time() - begun) * 1e3)
    return statistics.median(taken)


def costs(tasks: int, rounds: int) -> Iterator[tuple[str, float]]:
    """What is measured, with the figure: KiB for sizes, CPU-milliseconds for work."""
    logical, more = topology(tasks), {"count": tasks // 100}
    for name, kind in sorted(heron_resource_managers().items()):
        manager = initialized(kind, logical.config, logical.parallelism())
        packing = manager.pack()
        grown = manager.repack(packing, more)
        yield f"pack, {name}", milliseconds(rounds, manager.pack)
        yield f"repack, {name}", milliseconds(rounds, partial(manager.repack, packing, more))
    plan = physical_plan(logical, packing)
    update = Update(number=1, epoch=2, phase="proposed", packing=grown)
    packed, planned = packing.to_json(), plan.to_json()
    yield "packing plan, KiB", len(packed) / 1024
    yield "physical plan, KiB", len(planned) / 1024
    yield "node `update`, KiB", len(update.to_json()) / 1024
    yield "encode the packing plan", milliseconds(rounds, packing.to_json)
    yield "decode the packing plan", milliseconds(rounds, lambda: PackingPlan.from_json(packed))
    yield "encode the physical plan", milliseconds(rounds, plan.to_json)
    yield "decode the physical plan", milliseconds(rounds, lambda: PhysicalPlan.from_json(planned))
    yield "physical plan from packing", milliseconds(rounds, lambda: physical_plan(logical, packing))
    yield "next plan", milliseconds(rounds, lambda: next_plan(plan, grown, 2))
    yield "losses of the master", milliseconds(1, lambda: TupleLosses(plan))
    yield "build a spout task", milliseconds(rounds, lambda: built(planned, plan.tasks_of("words")[0].id))
    yield "build a bolt task", milliseconds(rounds, lambda: built(planned, plan.tasks_of("count")[0].id))


def built(planned: bytes, task: int) -> object:
    """A task as an instance builds it, from the plan that its Stream Manager has sent."""
    classes = {"m.Words": Words, "m.Count": Count}
    plan = PhysicalPlan.from_json(planned)
    return build_task(plan, task, 1, NoLink(), FlowSettings(), classes.__getitem__)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine())
    columns = [dict(costs(tasks, options.rounds)) for tasks in options.tasks]
    print("| CPU-milliseconds, or KiB | " + " | ".join(f"{tasks:,} tasks" for tasks in options.tasks) + " |")
    print("|---|" + "---|" * len(columns))
    for what in columns[0]:
        print(f"| {what} | " + " | ".join(f"{column[what]:,.1f}" for column in columns) + " |")


if __name__ == "__main__":
    main()
