"""A pipeline as data: steps, what they do and what they read. Built by streams, changed by the planner."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.triggers import Trigger
from heronpy.pipeline.watermarks import Watermarks
from heronpy.pipeline.windows import Windows

OnError: TypeAlias = Literal["fail", "skip", "aside"]
How: TypeAlias = Literal["inner", "left", "right", "outer"]
#: how the results of a window refine each other: what is new, what there is so far, or that with the last one
#: taken back
Panes: TypeAlias = Literal["discarding", "accumulating", "retracting"]
#: of event times that are numbers
TimeUnit: TypeAlias = Literal["s", "ms", "us"]
#: how records reach the tasks of another stage; "none" inside a stage
Exchange: TypeAlias = Literal["none", "local or shuffle", "shuffle", "fields(key)", "lowest"]

#: the outputs of a step: the first is what its own stream carries
MAIN, ERRORS, MATCHING, OTHERS, LATE = "", "errors", "matching", "others", "late"


class Site(NamedTuple):
    """The line of the user's file that made a step."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


# What a step does. `word` is the name of the operation, as the user wrote it.


@dataclass(frozen=True)
class ReadOp:
    """Records of a source."""

    source: Any
    word = "read"


@dataclass(frozen=True)
class MapOp:
    """One record for each."""

    fn: Callable[[Any], Any]
    word = "map"


@dataclass(frozen=True)
class FlatMapOp:
    """Any number of records for each."""

    fn: Callable[[Any], Iterable[Any]]
    word = "flat_map"


@dataclass(frozen=True)
class FilterOp:
    """The records that the function keeps."""

    fn: Callable[[Any], bool]
    word = "filter"


@dataclass(frozen=True)
class OnlyOp:
    """The records of these classes."""

    kinds: tuple[type, ...]
    word = "only"


@dataclass(frozen=True)
class PartitionOp:
    """Two outputs: MATCHING and OTHERS."""

    fn: Callable[[Any], bool]
    word = "partition"


@dataclass(frozen=True)
class MapAsyncOp:
    """One record for each, by awaiting; at most `at_once` calls are under way."""

    fn: Callable[[Any], Awaitable[Any]]
    at_once: int
    ordered: bool
    #: seconds that one call may take; None: for ever
    timeout: float | None = None
    #: further calls for a record whose call failed
    retries: int = 0
    word = "map_async"


@dataclass(frozen=True)
class MergeOp:
    """The records of all inputs; the planner makes further inputs of its readers of it."""

    word = "merge"


@dataclass(frozen=True)
class RebalanceOp:
    """An exchange that deals records out anew; the planner puts it onto the edge."""

    word = "rebalance"


@dataclass(frozen=True)
class KeyByOp:
    """A key for each record; the planner puts it onto the edge."""

    fn: Callable[[Any], Hashable]
    word = "key_by"


@dataclass(frozen=True)
class HashJoinOp:
    """Each record with the rows of a table that have its key. Input 0: records; input 1: the table."""

    on: Callable[[Any], Hashable]
    key: Callable[[Any], Hashable]
    how: How
    #: the steps that make the table, once the planner has cut them off
    table: Graph | None = None
    word = "hash_join"


@dataclass(frozen=True)
class TableOp:
    """The last step of a graph that makes the table of a hash join."""

    word = "table"


@dataclass(frozen=True)
class ProcessOp:
    """A function with a state for each key."""

    state: Callable[[], Any]
    fn: Callable[[Any, Any, Any], Iterable[Any]]
    on_timer: Callable[[Any, Any, Any], Iterable[Any]] | None = None
    #: microseconds of event time without a record after which a key is forgotten
    ttl: int | None = None
    word = "process"


@dataclass(frozen=True)
class RollingOp:
    """The aggregate of a key so far, after each record."""

    aggregate: Aggregate[Any, Any, Any]
    word = "rolling"


@dataclass(frozen=True)
class AggregateOp:
    """The aggregate of each key, or of all records, at the end of the input."""

    aggregate: Aggregate[Any, Any, Any]
    keyed: bool
    word = "aggregate"


@dataclass(frozen=True)
class PartialOp:
    """The first of two stages of an aggregate: accumulators of what one task has seen."""

    aggregate: Aggregate[Any, Any, Any]
    keyed: bool
    #: the step of the second stage
    of: str
    #: of an aggregate in windows: an accumulator is of a part of them that all its records share
    window: WindowOp | None = None
    word = "partial"


@dataclass(frozen=True)
class FinalOp:
    """The second of two stages of an aggregate: accumulators put together."""

    aggregate: Aggregate[Any, Any, Any]
    keyed: bool
    word = "aggregate"


@dataclass(frozen=True)
class DedupOp:
    """The first record of each key."""

    word = "dedup"


@dataclass(frozen=True)
class CoGroupOp:
    """All records of a key from two inputs at the end; with `how`, each pair of them."""

    how: How | None
    word = "co_group"


@dataclass(frozen=True)
class EventTimeOp:
    """An event time for each record, and watermarks."""

    by: Callable[[Any], Any]
    watermarks: Watermarks
    unit: TimeUnit | None
    #: microseconds after which a split that has nothing is not waited for; None: it always is
    idle: int | None
    #: microseconds by which a record may be ahead of the clock; None: by any
    future: int | None = None
    #: microseconds by which a split may be ahead of the slowest before it is not read; None: by any
    ahead: int | None = None
    word = "event_time"


@dataclass(frozen=True)
class WindowOp:
    """The aggregate of each key, or of all records, in windows."""

    windows: Windows
    trigger: Trigger
    panes: Panes
    #: microseconds behind its end for which a window takes records
    lateness: int
    aggregate: Aggregate[Any, Any, Any]
    keyed: bool
    #: of a join: the aggregate has the records of both sides, of which each pair is a result
    how: How | None = None
    #: records come from two sides
    sides: bool = False
    #: the second of two stages: what it reads may be accumulators
    final: bool = False
    word = "window"


@dataclass(frozen=True)
class WriteOp:
    """Records into a sink."""

    sink: Any
    word = "write"


Op: TypeAlias = (
    ReadOp
    | MapOp
    | FlatMapOp
    | FilterOp
    | OnlyOp
    | PartitionOp
    | MapAsyncOp
    | MergeOp
    | RebalanceOp
    | KeyByOp
    | HashJoinOp
    | TableOp
    | ProcessOp
    | RollingOp
    | AggregateOp
    | PartialOp
    | FinalOp
    | DedupOp
    | CoGroupOp
    | EventTimeOp
    | WindowOp
    | WriteOp
)

#: keeps something between records
STATEFUL = (AggregateOp, FinalOp, ProcessOp, RollingOp, DedupOp, CoGroupOp, WindowOp)
#: where records leave the graph
ENDS = (WriteOp, TableOp)


@dataclass(frozen=True)
class EdgeKey:
    """The key function that the producer of an edge runs."""

    step: str
    fn: Callable[[Any], Hashable]
    site: Site


@dataclass(frozen=True)
class StepInput:
    """An output of a step that another one reads."""

    step: str
    output: str = MAIN
    #: which side of a step with two sides reads it
    slot: int = 0
    key: EdgeKey | None = None
    rebalanced: bool = False
    exchange: Exchange = "none"


@dataclass(frozen=True)
class Step:
    """One operation of a pipeline."""

    name: str
    op: Op
    inputs: tuple[StepInput, ...]
    bounded: bool
    site: Site
    #: the name was made of operation and function, not given
    derived: bool = True
    par: int | None = None
    on_error: OnError = "fail"
    #: its records have event time
    timed: bool = False
    #: the step whose results may be taken back in what this one makes; "": none
    retracting: str = ""
    #: the same of what it reads
    retracted: str = ""
    #: microseconds by which its results may be behind the watermark
    late_by: int = 0
    #: set by the planner
    stage: str = ""

    def retracting_in(self, output: str) -> str:
        """The step whose results may be taken back in an output; late records are what was read."""
        return self.retracted if output == LATE else self.retracting


@dataclass(frozen=True)
class Graph:
    """The steps of a pipeline, each behind those that it reads."""

    name: str
    steps: tuple[Step, ...]
    #: steps that were left out because nothing writes what they make
    unread: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)

    def every_step(self) -> Iterator[Step]:
        """The steps of the plan, and those of the tables of its hash joins."""
        for step in self.steps:
            yield step
            if isinstance(step.op, HashJoinOp) and step.op.table is not None:
                yield from step.op.table.every_step()

    def readers(self, name: str) -> Iterator[tuple[Step, StepInput]]:
        """Who reads a step, and how."""
        return ((step, read) for step in self.steps for read in step.inputs if read.step == name)

    def changed(self, change: Callable[[Step], Iterable[Step]]) -> Graph:
        """Each step replaced by any number of others."""
        return dataclasses.replace(self, steps=tuple(new for step in self.steps for new in change(step)))
