"""Runs a pipeline in this process: records, watermarks, time, crashes and rescaling as data."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import msgspec

from heronpy.instances.saving.run_membership import has_runs
from heronpy.kernel.config import load_config
from heronpy.kernel.config.units import parse_duration
from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.operators.stage_logic import StageLogic
from heronpy.operators.timed_processing import KeyCell
from heronpy.pipeline.graph import LATE, MAIN, EventTimeOp
from heronpy.pipeline.pipeline import Pipeline
from heronpy.pipeline.records import Result, Timer
from heronpy.pipeline.times import BEGINNING, END, to_datetime
from heronpy.stages.stage_topology import topology_of
from heronpy.stages.tasks.stage_bolt import StageBolt
from heronpy.stages.tasks.time_giving_bolt import TimeGivingStageBolt
from heronpy.stages.tasks.timed_spout import TimedStageSpout
from heronpy.testing.clock import Clock
from heronpy.testing.pipelines.fed_source import FINISHED, FedSource, SaidWatermark
from heronpy.testing.pipelines.kept_sink import KeptSink
from heronpy.testing.pipelines.late_tally import LateTally
from heronpy.testing.pipelines.moments import FedRecord, Moment, micros, moment
from heronpy.testing.pipelines.seen_panes import SeenPane, pane_of
from heronpy.testing.pipelines.stand_in_master import StandInMaster
from heronpy.testing.pipelines.task_places import TaskPlace
from heronpy.testing.pipelines.tested_pipeline import TestedPipeline
from heronpy.testing.placing import placed
from heronpy.testing.run import flow_of

#: how far the clock moves at most before splits that have nothing are asked again, in seconds
_LOOK = 1.0


class PipelineTest:
    """A pipeline that runs step by step in this process: no ports, no processes, no waiting.

    It is the planned pipeline in the parts that run in production: frames, credit, barriers, checkpoints,
    changes of plan; only sockets, the store and the clock are others. Sources give what is fed, and sinks
    keep what is written. Equal inputs give equal runs.

    >>> from heronpy import Pipeline
    >>> from heronpy.pipeline import sinks, sources, tumbling
    >>> from heronpy.testing import at, late, on_time
    >>> p = Pipeline("clicks")
    >>> clicks = p.read(sources.items(list[str]()), name="clicks").event_time(lambda c: 0, unit="s", lag="5s")
    >>> counts = clicks.key_by(str.lower).window(tumbling("1m"), lateness="1m").count(name="count")
    >>> counts.write(sinks.printed(), name="shown")
    >>> with PipelineTest(p, par=2) as run:
    ...     run.feed("clicks", at("12:00:10", "ann"), at("12:00:50", "Ann"))
    ...     run.watermark("clicks", "12:01")
    ...     run.checkpoint()
    ...     run.feed("clicks", at("12:00:59", "ann"))
    ...     run.crash("count")
    ...     run.rescale("count", 3)
    ...     on_its_way = late("ann", 3, "12:00", "12:01")
    ...     assert run.panes("count") == [on_time("ann", 2, "12:00", "12:01"), on_its_way]
    """

    __test__ = False  # not a test itself, whatever pytest thinks of its name

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        par: int = 1,
        splits: int | Mapping[str, Sequence[str]] = 1,
        now: Moment = "00:00",
        settings: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        """`par` is the number of tasks of stages that do not name one; `splits` how many each source has,
        or their names by source. `now` is the time of day at the beginning. A `seed` mixes up the order in
        which tasks take turns.
        """
        self._tested = TestedPipeline(pipeline, splits)
        config = load_config(os.devnull, environ={}, flags=settings or {})
        # in a test time stands still, so nothing is to wait for the next moment
        flow = msgspec.structs.replace(flow_of(config), watermark_interval=0.0, watermark_per_receiver=0.0)
        self.clock = Clock(moment(now).timestamp())
        with self._tested.standing_in():
            plan, find = placed(topology_of(self._tested.planned, par), 1)
            self._master = StandInMaster(plan, find, flow, self.clock, seed)
            self._late = LateTally(self._all_logics)
            self._settle()

    def feed(self, source: str, *records: Any, split: str | None = None) -> None:
        """Give these records to a source: dealt to its splits in turn, or all to one.

        `at(time, value)` has the event time that the test says; for other records the pipeline's own
        `event_time` does. Once a source was given `at(…)`, its watermark is what `watermark` says.
        """
        fed = self._tested.source(source)
        names = [self._split(fed, split)] if split is not None else list(fed.fed)
        if any(isinstance(record, FedRecord) for record in records):
            self._check_times(source)
            fed.scripted = True
        for number, record in enumerate(records):
            fed.fed[names[number % len(names)]].append(record)
        self._settle()

    def watermark(self, source: str, time: Moment, *, split: str | None = None) -> None:
        """Nothing older follows in a split, or in all splits of a source."""
        fed = self._tested.source(source)
        self._check_times(source)
        fed.scripted = True
        self._append(fed, SaidWatermark(micros(time)), split)

    def finish(self, source: str, *, split: str | None = None) -> None:
        """A split, or the whole source, has ended."""
        self._append(self._tested.source(source), FINISHED, split)

    def idle(self, source: str, *, split: str | None = None) -> None:
        """Let time pass until a split, or all of a source, is idle; the other splits have something."""
        fed = self._tested.source(source)
        longest = self._idle_of(source) + _LOOK  # tasks say what they have found at their next look
        quiet = set(fed.fed) if split is None else {self._split(fed, split)}
        passed = 0.0
        while passed < longest:
            fed.awake = set(fed.fed) - quiet
            step = min(_LOOK, longest - passed)
            self.clock.advance(step)
            passed += step
            self._settle()

    def advance(self, duration: str | float) -> None:
        """Move processing time by "10s" or so many seconds; what falls due happens at its time."""
        end = self.clock.monotonic() + parse_duration(duration)
        while (left := end - self.clock.monotonic()) > 1e-9:
            self.clock.advance(self._master.until_next_due(min(left, _LOOK)))
            self._settle()

    def advance_to(self, time: Moment) -> None:
        """Move processing time to a time of day."""
        self.advance(max(0.0, moment(time).timestamp() - self.clock.time()))

    def checkpoint(self) -> None:
        """Take a checkpoint; what sinks were given is committed."""
        with self._tested.standing_in():
            self._master.checkpoint()
        self._late.checkpoint()

    def crash(self, step: str) -> None:
        """The tasks of a step die; the pipeline goes back to its last checkpoint, or to its beginning."""
        with self._tested.standing_in(), self._late.tasks_change():
            self._master.crash(self._tested.stage_of(step))
        if has_runs(self._master.plan):
            self._late.back_to_checkpoint()
        self._settle()

    def rescale(self, step: str, tasks: int) -> None:
        """Change the number of a step's tasks while the pipeline runs, as `heronpy update` does."""
        with self._tested.standing_in(), self._late.tasks_change():
            self._master.rescale(self._tested.stage_of(step), tasks)
        self._settle()

    def script(self, steps: Iterable[tuple[Any, ...]]) -> None:
        """All of these as data: `[("feed", "clicks", at("12:00", 1)), ("crash", "count")]`.

        In place of a source, a pair is one of its splits: `("idle", ("clicks", "eu"))`.
        """
        for word, *arguments in steps:
            method: Callable[..., None] | None = getattr(self, word, None) if word in _WORDS else None
            if method is None:
                msg = f"a script knows no {word!r}{did_you_mean(word, _WORDS)}"
                raise UserError(msg, hint=f"one of {', '.join(_WORDS)}")
            _call(word, method, arguments)

    def results(self, step: str) -> list[Any]:
        """All that a step with state has made, less what a crash has undone; windows make `Result`s."""
        return self._kept(step, MAIN).seen

    def panes(self, step: str) -> list[SeenPane]:
        """The results of a step with windows, as `early`, `on_time` and `late` write them."""
        return [pane_of(one) for one in self.results(step) if isinstance(one, Result)]

    def late(self, step: str) -> list[Any]:
        """What came when its windows had expired, where the pipeline reads `.late` of the step."""
        return self._kept(step, LATE).seen

    def written(self, sink: str) -> list[Any]:
        """What a sink was given, less what a crash has undone."""
        return self._kept(sink, MAIN).seen

    def committed(self, step: str) -> list[Any]:
        """The part of `results` or `written` that no crash can undo: up to the last checkpoint."""
        return self._kept(step, MAIN).committed

    def late_dropped(self, step: str) -> int:
        """How many records came when their windows had expired, and were dropped, less what a crash has
        undone."""
        self._tested.stage_of(step)
        return self._late.of(step)

    def watermark_of(self, step: str) -> datetime:
        """How far event time has come at the input of a step: the least over its tasks."""
        places = self._master.of(self._tested.stage_of(step))
        floors = [place.task.parts.input_time.floor for place in places if place.task is not None]
        return to_datetime(min(floors, default=BEGINNING))

    def held_by(self, step: str) -> str | None:
        """What keeps event time back where it begins, as `status` says it: the split of a source, which may
        run ahead instead, or behind an exchange a task that gets nothing."""
        tasks = [place.task for place in self._master.of(self._tested.stage_of(step))]
        components = [task.component for task in tasks if task is not None]
        giving = [one for one in components if isinstance(one, TimedStageSpout | TimeGivingStageBolt)]
        giving.sort(key=lambda one: one.logic.lowest or (END, False))
        return next(filter(None, (one.held_by() for one in giving)), None)

    def timers(self, step: str) -> list[tuple[Any, Timer]]:
        """The keys of a `process` that wait for event time, each with its timer, the earliest first."""
        waiting = [
            (time, number, key, tag)
            for logic in self._logics(step)
            for key, cell in logic.keepers[step].states.items()
            if isinstance(cell, KeyCell)
            for tag, (time, number) in cell.timers.items()
            if tag is not None
        ]
        return [(key, Timer(to_datetime(time), tag)) for time, _, key, tag in sorted(waiting, key=_by_time)]

    def close(self) -> None:
        """Close every component. Leaving a `with` block does it too."""
        self._master.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _logics(self, step: str) -> list[StageLogic]:
        return _logics_in(self._master.of(self._tested.stage_of(step)))

    def _all_logics(self) -> list[StageLogic]:
        return _logics_in(self._master.places.values())

    def _append(self, fed: FedSource, entry: object, split: str | None) -> None:
        for name in fed.fed if split is None else [self._split(fed, split)]:
            fed.fed[name].append(entry)
        self._settle()

    def _settle(self) -> None:
        __tracebackhide__ = True
        with self._tested.standing_in():
            left = -1
            # a task that polled something without records rests, and time stands still
            while (now := sum(source.left for source in self._tested.sources.values())) != left:
                left = now
                self._master.wake_all()
                self._master.settle()

    def _split(self, fed: FedSource, split: str) -> str:
        if split not in fed.fed:
            msg = f"{fed.name!r} has no split {split!r}{did_you_mean(split, fed.fed)}"
            raise UserError(msg, hint=f"PipelineTest(p, splits={{{fed.name!r}: [{split!r}, …]}})")
        return split

    def _check_times(self, source: str) -> None:
        if self._tested.source(source) not in self._tested.timed_by.values():
            msg = f"no event_time follows {source!r} at once, so a test cannot say the time of its records"
            raise UserError(msg, hint=f"run.feed({source!r}, record), whose time the pipeline finds")

    def _idle_of(self, source: str) -> float:
        ops = [
            step.op
            for step in self._tested.graph().steps
            if isinstance(step.op, EventTimeOp)
            and self._tested.timed_by.get(step.name) is self._tested.source(source)
        ]
        waits = [op.idle for op in ops if op.idle is not None]
        if not waits:
            msg = f"the splits of {source!r} are never idle: its event_time has no idle="
            raise UserError(msg, hint="event_time(…, idle='30s')")
        return max(waits) / 1_000_000

    def _kept(self, step: str, output: str) -> KeptSink:
        found = self._tested.kept.get((step, output))
        if found is None and output == LATE:
            msg = f"nothing reads the late records of {step!r}, so they are dropped and counted"
            raise UserError(msg, hint="results.late.write(…) in the pipeline")
        if found is None:
            known = sorted({name for name, _ in self._tested.kept})
            msg = f"{step!r} is neither a step with state nor a sink{did_you_mean(step, known)}"
            raise UserError(msg, hint=f"one of {', '.join(map(repr, known))}")
        return found


_WORDS = (
    "feed", "watermark", "finish", "idle", "advance", "advance_to", "checkpoint", "crash", "rescale",
)  # fmt: skip

#: those of a source, which may be of one of its splits
_OF_SPLITS = ("feed", "watermark", "finish", "idle")


def _call(word: str, method: Callable[..., None], arguments: Sequence[Any]) -> None:
    """A line of a script; a pair in place of a source is one of its splits."""
    named: dict[str, Any] = {}
    if word in _OF_SPLITS and arguments and isinstance(arguments[0], tuple | list):
        (source, named["split"]), *others = arguments
        arguments = (source, *others)
    try:
        inspect.signature(method).bind(*arguments, **named)
    except TypeError as error:
        msg = f"a script cannot {word} {', '.join(map(repr, arguments))}: {error}"
        hint = f"({word!r}, 'visits', …), or ({word!r}, ('visits', '0'), …) for one split"
        raise UserError(msg, hint=hint if word in _OF_SPLITS else f"as run.{word}(…) takes it") from None
    method(*arguments, **named)


def _logics_in(places: Iterable[TaskPlace]) -> list[StageLogic]:
    bolts = [place.task.component for place in places if place.task is not None]
    return [bolt.logic for bolt in bolts if isinstance(bolt, StageBolt)]


def _by_time(entry: tuple[int, int, Any, str]) -> tuple[int, int]:
    return entry[:2]
