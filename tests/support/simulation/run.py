"""One schedule from seed to verdict."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Literal

import msgspec
from support.simulation.cluster import Cluster
from support.simulation.faults import Nemesis
from support.simulation.instance import Instance
from support.simulation.shapes import Shape, bulk_shape, some_shape
from support.simulation.world import World

Profile = Literal["links", "tracked", "untracked"]

PROFILES: Final[tuple[Profile, ...]] = ("links", "tracked", "untracked")
LINK_FAULTS: Final = ("reset", "cut", "cut_both_ways", "echo")
FAULTS: Final = (
    *LINK_FAULTS,
    "kill_instance",
    "kill_manager",
    "kill_container",
    "kill_unheard",
    "freeze",
    "zombie_instance",
    "zombie_container",
)
#: virtual seconds in which everything must be done once the faults are over
PATIENCE: Final = 40.0
#: tuples of each spout task after the faults: they must arrive once each
EPILOGUE: Final = 40
#: what a broken connection still brings has come by then
SETTLING: Final = 0.7
#: how often to look whether all is done
CHECKING: Final = 0.1
#: shorter than many a fault, so that trees do time out
SHORT_TIMEOUT, LONG_TIMEOUT = 2.0, 600.0


class Outcome(msgspec.Struct):
    """What became of one schedule."""

    seed: int
    profile: Profile
    faults: list[str]
    failures: list[str] = []
    tuples: int = 0
    seconds: float = 0.0
    lost: int = 0
    duplicated: int = 0
    replayed: int = 0
    resent: int = 0
    repeated: int = 0
    missing: int = 0
    maybe_lost: int = 0
    rejected: int = 0
    fenced: int = 0
    trace: list[str] = []

    def __str__(self) -> str:
        told = "; ".join(self.failures)
        command = f"PYTHONPATH=tests python -m support.simulation --seed {self.seed}"
        return f"seed {self.seed}: {told}\nreplay: {command}"


def profile_of(seed: int) -> Profile:
    """Faults on links only; or any, with trees or without."""
    return PROFILES[seed % len(PROFILES)]


def run_schedule(seed: int, *, tracing: bool = False) -> Outcome:
    """Draw a topology and faults, let them meet, and judge what is left."""
    dice = random.Random(seed)
    profile = profile_of(seed)
    tracked = profile == "tracked" or (profile == "links" and dice.random() < 0.5)
    timeout = LONG_TIMEOUT if profile == "links" else SHORT_TIMEOUT
    shape = some_shape(dice, tracked=tracked, timeout=timeout, tuples=dice.choice((500, 1000)))
    kinds = LINK_FAULTS if profile == "links" else FAULTS
    return _Run(seed, profile, shape, tracing).play(kinds, dice.choice((1, 2, 3)))


def run_many(seeds: Sequence[int]) -> list[Outcome]:
    """Many schedules, on all cores but those of other workers of the test run."""
    cores = max(1, (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    command = [sys.executable, "-m", "support.simulation.share"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(cores)
    ]
    with ThreadPoolExecutor(cores) as threads:
        shares = (msgspec.json.encode(list(seeds[each::cores])) for each in range(cores))
        answers = threads.map(lambda worker, share: worker.communicate(share)[0], workers, shares)
        found = [outcome for each in answers for outcome in msgspec.json.decode(each, type=list[Outcome])]
    return sorted(found, key=lambda outcome: outcome.seed)


def run_in_bulk(seed: int, tuples: int) -> Outcome:
    """Many tuples in large batches, with a few faults on links: for what goes wrong once in a long while."""
    return _Run(seed, "links", bulk_shape(tuples), tracing=False).play(("reset", "cut"), 2)


class _Run:
    def __init__(self, seed: int, profile: Profile, shape: Shape, tracing: bool) -> None:
        self._shape = shape
        self._world = World(seed, tracing=tracing)
        self._cluster = Cluster(self._world, shape)
        self._outcome = Outcome(seed, profile, [])

    def play(self, kinds: tuple[str, ...], count: int) -> Outcome:
        shape, outcome = self._shape, self._outcome
        slowest = max(shape.costs["numbers"], max(shape.costs.values()) / 2)
        nemesis = Nemesis(self._cluster, shape.tuples * slowest)
        nemesis.plan(kinds, count)
        outcome.faults = nemesis.kinds
        try:
            self._live_through(nemesis)
        except Exception as error:
            outcome.failures.append(f"error: {error!r}")
            self._world.note(traceback.format_exc())
        finally:
            self._world.close()
        outcome.failures.extend(self._cluster.ledger.violations[:5])
        self._count()
        refused = sum(manager.forwarder.rejected for manager in self._cluster.managers)
        self._expect(refused >= outcome.fenced, f"fence: {outcome.fenced} to be refused, {refused} were")
        return outcome

    def _live_through(self, nemesis: Nemesis) -> None:
        self._let_in(self._shape.tuples)
        self._world.run(nemesis.over_at)
        while nemesis.over_at > self._world.now:  # some faults find their end only as they happen
            self._world.run(nemesis.over_at)
        self._world.note("all faults are over")
        if self._drain("the faults"):
            self._judge_all()
            self._world.note("epilogue")
            self._let_in(EPILOGUE)
            if self._drain("the epilogue"):
                self._judge_epilogue()

    def _let_in(self, tuples: int) -> None:
        for task, source in self._cluster.sources.items():
            source.limit += tuples
            for pod in self._cluster.pods.values():
                if task in pod.instances:
                    pod.instances[task].wake(self._world.now)

    def _drain(self, what: str) -> bool:
        """Go on until nothing moves; False, and a failure, when that takes too long."""
        deadline = self._world.now + PATIENCE
        self._world.run(self._world.now + SETTLING)
        self._world.after(0.0, self._check)
        self._world.run(deadline)
        if self._is_done():
            self._world.run(self._world.now + SETTLING)
            return True
        self._outcome.failures.append(f"liveness: not done {PATIENCE:g} s after {what}: {self._what_waits()}")
        return False

    def _check(self) -> None:
        if self._is_done():
            self._world.halt()
        else:
            self._world.after(CHECKING, self._check)

    def _is_done(self) -> bool:
        sources = self._cluster.sources.values()
        if self._shape.tracked and any(len(source.acked) < source.limit for source in sources):
            return False
        trackers = [instance.task.parts.tracker for instance in self._living()]
        if any(tracker is not None and tracker.pending for tracker in trackers):
            return False
        return self._cluster.at_rest

    def _what_waits(self) -> str:
        waiting = [f"{len(source.acked)}/{source.limit} acked" for source in self._cluster.sources.values()]
        for pod in self._cluster.pods.values():
            if pod.manager is not None:
                forwarder = pod.manager.forwarder
                waiting.append(f"{pod.manager.name}: {forwarder.backlog}+{forwarder.unconfirmed}")
            for instance in pod.instances.values():
                parts = instance.task.parts
                trees = f", {parts.tracker.pending} trees" if parts.tracker is not None else ""
                out = ", out" if parts.outbox.waiting else ""
                waiting.append(f"{instance.name}: {len(parts.inflow.inbox)} in{out}{trees}")
        return ", ".join(waiting)

    def _judge_all(self) -> None:
        outcome, arrived = self._outcome, self._cluster.ledger.arrived
        expected = {
            (number, road)
            for source in self._cluster.sources.values()
            for number in source.numbers
            for road in self._shape.roads
        }
        outcome.tuples = len(expected)
        outcome.lost = len(expected - arrived.keys())
        outcome.duplicated = sum(arrived.values()) - len(arrived)
        self._expect(not arrived.keys() - expected, "unexpected: tuples that no spout emitted")
        if self._shape.tracked or outcome.profile == "links":
            self._expect(outcome.lost == 0, f"lost: {outcome.lost} tuples")
        if not self._shape.tracked or outcome.profile == "links":
            self._expect(outcome.duplicated == 0, f"duplicated: {outcome.duplicated} tuples")

    def _judge_epilogue(self) -> None:
        arrived = self._cluster.ledger.arrived
        for source in self._cluster.sources.values():
            for number in source.numbers[-EPILOGUE:]:
                for road in self._shape.roads:
                    times = arrived[number, road]
                    self._expect(times == 1, f"epilogue: {number} came {times} times from {road}")

        if not self._shape.tracked:
            self._judge_interval()

    def _judge_interval(self) -> None:
        """What the engine counts as lost, and as perhaps lost, has the truth between them."""
        lost = self._outcome.lost
        counted = [self._cluster.losses.of(task.id) for task in self._cluster.plan.tasks]
        least, most = (sum(ends) for ends in zip(*counted, strict=True))
        self._expect(least <= lost <= most, f"interval: {lost} lost, {least} to {most} counted")

    def _expect(self, held: bool, failure: str) -> None:
        if not held and len(self._outcome.failures) < 5:
            self._outcome.failures.append(failure)

    def _living(self) -> list[Instance]:
        return [one for pod in self._cluster.pods.values() for one in pod.instances.values()]

    def _count(self) -> None:
        outcome, cluster = self._outcome, self._cluster
        outcome.seconds = self._world.now
        outcome.replayed = sum(source.replayed for source in cluster.sources.values())
        outcome.fenced = cluster.fenced
        for manager in cluster.managers:
            outcome.resent += manager.forwarder.resent
            outcome.repeated += manager.forwarder.repeated
            outcome.rejected += manager.forwarder.rejected
        for instance in cluster.instances:
            outcome.rejected += instance.task.parts.counters.rejected
            outcome.missing += instance.task.parts.counters.missing
            outcome.maybe_lost += instance.task.parts.counters.maybe_lost
        outcome.trace = self._world.trace or []
