"""The list of steps that a pipeline's streams add to: names, sites and what can be refused at once."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from heronpy.kernel.errors import UserError
from heronpy.kernel.names import checked_name
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.checks import refuse_unless
from heronpy.pipeline.graph import (
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
    RollingOp,
    Site,
    Step,
    StepInput,
    WindowOp,
    WriteOp,
)


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
            **_results_of(op, before, word, own),
        )
        self._steps[step.name] = step
        return step

    def __getitem__(self, name: str) -> Step:
        return self._steps[name]

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


def _results_of(op: Op, before: Sequence[Step], word: str, name: str) -> dict[str, Any]:
    """What becomes of results that are taken back, or come late, on their way through a step."""
    retracting = next((step.retracting for step in before if step.retracting), "")
    late_by = max((step.late_by for step in before), default=0)
    if isinstance(op, WindowOp):
        return {"retracting": name if op.panes == "retracting" else "", "late_by": op.lateness}
    if retracting and isinstance(op, ProcessOp | RollingOp | DedupOp | AggregateOp | CoGroupOp | MapAsyncOp):
        msg = f"{word} cannot take back what {retracting!r} takes back (panes='retracting')"
        raise UserError(msg, hint="a window with an aggregate that deducts, or panes='accumulating'")
    if retracting and isinstance(op, WriteOp) and before[0].name != retracting:
        msg = f"{word} appends what {before[0].name!r} makes of results that {retracting!r} takes back"
        raise UserError(msg, hint=f"write the results of {retracting!r} themselves, or panes='accumulating'")
    return {"retracting": retracting, "late_by": late_by}


def name_of(function: object) -> str:
    """What a step is called by: its function, class or aggregate."""
    own = getattr(function, "name", None) or getattr(function, "__name__", None)
    if own is None and function is not None:
        own = type(function).__name__
    return re.sub(r"[^A-Za-z0-9_.-]", "", str(own)) if own and own != "<lambda>" else ""


def user_site() -> Site:
    """The innermost line that is not of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("heronpy.pipeline"):
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
