"""The list of steps that a pipeline's streams add to: names, sites and what can be refused at once."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from heronpy.kernel.errors import UserError
from heronpy.kernel.names import checked_name
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.checks import refuse_unless
from heronpy.pipeline.graph import (
    STATEFUL,
    AggregateOp,
    CoGroupOp,
    DedupOp,
    EventTimeOp,
    Graph,
    HashJoinOp,
    MapAsyncOp,
    MergeOp,
    OnError,
    Op,
    ProcessOp,
    ReadOp,
    RebalanceOp,
    RollingOp,
    Site,
    Step,
    StepInput,
    WindowOp,
    WriteOp,
)

#: what a retraction would be one more record to
_CANNOT_TAKE_BACK = (ProcessOp, RollingOp, DedupOp, AggregateOp, CoGroupOp, MapAsyncOp, EventTimeOp)

#: packages whose lines make steps of what the user wrote
_WRITTEN_WITH = ("heronpy.pipeline", "heronpy.streamlet")


class Steps:
    """The steps of one pipeline, in the order in which they were written."""

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        self._steps: dict[str, Step] = {}
        #: windows that nothing was calculated in so far
        self.unused_windows: dict[object, Site] = {}

    def graph(self) -> Graph:
        for window, site in self.unused_windows.items():
            msg = f"nothing is calculated in {window} at {site}"
            raise UserError(msg, hint=".window(…).count(), or .aggregate(…), or leave the window out")
        return Graph(self.pipeline, tuple(self._steps.values()))

    def add(
        self,
        op: Op,
        inputs: tuple[StepInput, ...] = (),
        *,
        function: object = None,
        called: str | None = None,
        name: str | None = None,
        par: int | None = None,
        on_error: OnError = "fail",
    ) -> Step:
        """A new step. Without a name it is called by `called` or the operation, and by its function."""
        site = user_site()
        word = called or op.word
        refuse_unless(
            on_error in ("fail", "skip", "aside"),
            f"{word}: on_error={on_error!r} is not known",
            hint="on_error='fail', 'skip' or 'aside'",
        )
        refuse_unless(
            par is None or (isinstance(par, int) and par >= 1),
            f"{word}: par={par!r} is not a number of tasks",
            hint="par=1 or more, or leave it out",
        )
        before = [self[read.step] for read in inputs]
        if isinstance(op, EventTimeOp):
            _check_splits(op, list(self._way_back(before[0])))
        bounded = op.source.bounded if isinstance(op, ReadOp) else all(step.bounded for step in before)
        given = self._checked(name, site) if name is not None else None
        own = given or self._derived(word, function)
        step = Step(
            name=own,
            op=op,
            inputs=inputs,
            bounded=bounded,
            site=site,
            derived=given is None,
            par=par,
            on_error=on_error,
            timed=_timed(op, before),
            **_results_of(op, inputs, before, word, own),
        )
        self._steps[step.name] = step
        return step

    def __getitem__(self, name: str) -> Step:
        return self._steps[name]

    def _way_back(self, step: Step) -> Iterator[Step]:
        """The steps by which its records came, to their sources or to what spoke at the end of a window."""
        waiting, found = [step.name], set[str]()
        while waiting:
            if (name := waiting.pop()) in found:
                continue
            found.add(name)
            yield (before := self[name])
            if not isinstance(before.op, AggregateOp | CoGroupOp | WindowOp):
                reads = before.inputs[:1] if isinstance(before.op, HashJoinOp) else before.inputs
                waiting += (read.step for read in reads)

    def _checked(self, name: str, site: Site) -> str:
        checked_name("the step", name)
        if (other := self._steps.get(name)) is not None:
            msg = f"the name {name!r} at {site} is taken by the step at {other.site}"
            raise UserError(msg, hint=f"name='{name}-2'")
        return name

    def _derived(self, word: str, function: object) -> str:
        plain = name_of(function)
        wanted = f"{word}:{plain}" if plain else word
        name, number = wanted, 2
        while name in self._steps:
            name, number = f"{wanted}-{number}", number + 1
        return name


def _timed(op: Op, before: Sequence[Step]) -> bool:
    """Whether the records of a step have event time."""
    if isinstance(op, EventTimeOp):
        return True
    if isinstance(op, ReadOp | AggregateOp | CoGroupOp | WriteOp):
        return False
    if isinstance(op, HashJoinOp):
        return before[0].timed
    if isinstance(op, MergeOp) and len({step.timed for step in before}) > 1:
        without = next(step.name for step in before if not step.timed)
        msg = f"merge: {without!r} has no event time, and others have"
        raise UserError(msg, hint=".event_time(…) behind read, for all of them or for none")
    return all(step.timed for step in before)


def _check_splits(op: EventTimeOp, way: Sequence[Step]) -> None:
    """Refuses event time for records whose splits the step cannot tell apart, where that loses some."""
    read = [step for step in way if isinstance(step.op, ReadOp)]
    merge = next((step.name for step in way if isinstance(step.op, MergeOp)), "")
    refuse_unless(
        len(read) < 2,
        f"event_time behind {merge!r}: records of a slow source would be late against those of a fast one",
        hint="put event_time behind each read, and merge what it gives",
    )
    par = read[0].par if read else None
    mixing = next((step.name for step in way if _mixes_splits(step, par)), "")
    refuse_unless(
        op.ahead is None or not mixing,
        f"event_time: ahead=… has no effect behind {mixing!r}, which does not hand on of which split"
        " its records are",
        hint=f"put event_time in front of {mixing!r}, or leave ahead out",
    )


def _mixes_splits(step: Step, par: int | None) -> bool:
    """Whether what reads it is in another stage than the source, which has tasks of its own."""
    return isinstance(step.op, (MapAsyncOp, RebalanceOp, *STATEFUL)) or step.par not in (None, par)


def _results_of(
    op: Op, inputs: Sequence[StepInput], before: Sequence[Step], word: str, name: str
) -> dict[str, Any]:
    """What becomes of results that are taken back, or come late, on their way through a step."""
    found = (step.retracting_in(read.output) for step, read in zip(before, inputs, strict=True))
    retracting = next(filter(None, found), "")
    late_by = max((step.late_by for step in before), default=0)
    if isinstance(op, WindowOp):
        if retracting and op.panes == "discarding" and not op.aggregate.additive:
            msg = (
                f"{name!r} discards, and what {retracting!r} takes back (panes='retracting') may be of a pane"
                f" that it has discarded: only counts and sums of that can be told, no {op.aggregate.name}"
            )
            hint = f"panes='accumulating' or 'retracting' for {name!r}"
            raise UserError(msg, hint=f"{hint}, or panes='accumulating' for {retracting!r}")
        own = name if op.panes == "retracting" else ""
        return {"retracting": own, "retracted": retracting, "late_by": op.lateness}
    if retracting and isinstance(op, _CANNOT_TAKE_BACK):
        msg = f"{word} cannot take back what {retracting!r} takes back (panes='retracting')"
        raise UserError(msg, hint="a window with an aggregate that deducts, or panes='accumulating'")
    if isinstance(op, HashJoinOp) and (of_table := before[1].retracting_in(inputs[1].output)):
        msg = f"the table of {name!r} cannot take back what {of_table!r} takes back (panes='retracting')"
        raise UserError(msg, hint=f"panes='accumulating' for {of_table!r}, without early and late panes")
    if retracting and isinstance(op, WriteOp) and before[0].name != retracting:
        msg = f"{word} appends what {before[0].name!r} makes of results that {retracting!r} takes back"
        raise UserError(msg, hint=f"write the results of {retracting!r} themselves, or panes='accumulating'")
    return {"retracting": retracting, "retracted": retracting, "late_by": late_by}


def name_of(function: object) -> str:
    """What a step is called by: its function, class or aggregate."""
    own = getattr(function, "name", None) or getattr(function, "__name__", None)
    if own is None and function is not None:
        own = type(function).__name__
    plain = str(own or "").partition("(")[0]  # of(n=count) is called by its first word
    return re.sub(r"[^A-Za-z0-9_.-]", "", plain) if plain != "<lambda>" else ""


def user_site() -> Site:
    """The innermost line that is not of what steps are written with."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_WRITTEN_WITH):
        frame = frame.f_back
    return Site(frame.f_code.co_filename, frame.f_lineno)


def checked_function(word: str, fn: Callable[..., Any], *, many: bool = False) -> None:
    """Refuses what cannot be the function of a step; `many`: one that gives any number of records."""
    refuse_unless(callable(fn), f"{word} takes a function, got {fn!r}", hint=f".{word}(lambda record: …)")
    called = name_of(fn) or "a lambda"
    awaits = inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn)
    refuse_unless(
        not awaits, f"{word} does not await, and {called} is async", hint=".map_async(fn, at_once=100)"
    )
    refuse_unless(
        many or not inspect.isgeneratorfunction(fn),
        f"{word} takes a function that returns one value, and {called} yields",
        hint=f".flat_map({called})",
    )


def checked_end(word: str, end: object, kind: type, *, hint: str) -> None:
    """Refuses what is no source or sink. Its values may be many: they are looked at only to be refused."""
    if not isinstance(end, kind):
        msg = f"{word} takes a {kind.__name__.lower()}, got {end!r}"
        raise UserError(msg, hint=hint)


def checked_end_of_input(word: str, step: str, bounded: bool) -> None:
    """Refuses what speaks at the end of a stream that has none."""
    refuse_unless(
        bounded,
        f"{word} of {step!r}, a stream that never ends: when should it speak?",
        hint=".window(…), or .rolling(…) for a result per record",
    )


def checked_how(word: str, how: str, known: tuple[str, ...]) -> None:
    """Refuses a kind of join that the step does not have."""
    refuse_unless(
        how in known, f"{word}: how={how!r} is not known", hint=" or ".join(f"how={k!r}" for k in known)
    )


def checked_aggregate(word: str, aggregate: object) -> None:
    """Refuses what is no aggregate."""
    msg = f"{word} takes an aggregate, got {aggregate!r}"
    refuse_unless(isinstance(aggregate, Aggregate), msg, hint="agg.sum(fn), or agg.fold(create, add)")
