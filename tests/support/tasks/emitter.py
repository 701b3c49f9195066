"""An emitting task without a socket: what it sends is kept, its clock and its credit are the test's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from support.tasks.plans import SINK, SOURCE, edge, plan_of

from heronpy.column_schema import Schema
from heronpy.instances.acking.ack_codec import decode_anchored
from heronpy.instances.counters import Counters
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.output.collector import Collector
from heronpy.instances.output.columns.column_codec import decode_columns, is_columns
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.instances.output.outbox import Outbox
from heronpy.kernel.flow.column_split import rows_of
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import ANCHORED, DATA, SIGNAL, Prefix, unseal
from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import Signal, decode_signal
from heronpy.kernel.plans import Input

MY_INCARNATION = 5
RECEIVER = 9


class Sent(NamedTuple):
    prefix: Prefix
    rows: list[list[Any]]
    signal: Signal | None
    #: of each row, root → edge; empty where nothing is tracked
    trees: list[dict[int, int]]


class RecordingLink:
    """A link that keeps what is sent; `on_pump` is what the rest of the world does while one waits."""

    def __init__(self) -> None:
        self.frames: list[Sent] = []
        #: of the payloads of data frames
        self.data_bytes = 0
        self.stopping = False
        self.on_pump: Callable[[], None] = lambda: None
        #: of streams of columns
        self.schema: Any = None

    def send(self, prefix: bytes, payload: bytes) -> None:
        read = unseal(prefix, payload)
        self.data_bytes += len(payload) if read.kind == DATA else 0
        trees: list[dict[int, int]] = []
        if read.kind == ANCHORED and not is_columns(payload):
            ids, payload = decode_anchored(payload, read.tuples)
            trees = [tup_id.settle() if tup_id is not None else {} for tup_id in ids]
        rows = self._rows(payload) if read.kind in (DATA, ANCHORED) else []
        signal = decode_signal(payload) if read.kind == SIGNAL else None
        self.frames.append(Sent(read, rows, signal, trees))

    def _rows(self, payload: bytes) -> list[list[Any]]:
        if is_columns(payload):
            return rows_of(decode_columns(payload, self.schema)[0])
        return PlainCodec().decode(payload)

    def pump(self, timeout: float) -> None:
        self.on_pump()

    @property
    def sizes(self) -> list[int]:
        return [frame.prefix.tuples for frame in self.frames if frame.prefix.kind == DATA]

    @property
    def values(self) -> list[list[Any]]:
        return [row for frame in self.frames for row in frame.rows]


class Uneven:
    """No task, one, two, or one of them twice."""

    def __init__(self, tasks: Sequence[int]) -> None:
        self._tasks = tasks

    def choose_tasks(self, values: Sequence[Any]) -> list[int]:
        first, last = self._tasks[0], self._tasks[-1]
        return [[], [first], [first, last], [last, last]][key_group(values[0], 4)]


class Emitter:
    """Task 1 of a small plan with a clock that the test moves."""

    def __init__(
        self,
        *edges: Input,
        par: int = 1,
        spouts: int = 1,
        may_wait: bool = True,
        schema: Schema | None = None,
        **settings: Any,
    ) -> None:
        self.plan = plan_of(*(edges or (edge("shuffle"),)), par=par, spouts=spouts, schema=schema)
        self.now = 100.0
        self.link = RecordingLink()
        self.link.schema = schema.arrow if schema is not None else None
        self.counters = Counters()
        self.settings = FlowSettings(**settings)
        self.outbox = Outbox(
            self.plan,
            Sender(SOURCE, MY_INCARNATION, self.plan.epoch),
            PlainCodec(),
            self.link,
            self.settings,
            self.counters,
            lambda: self.now,
            may_wait=may_wait,
        )
        self.collector = Collector(self.plan, SOURCE, self.outbox, self.counters, self._custom)
        for task in self.plan.tasks_of("count"):
            self.grant(0, self.settings.credit_initial, task=task.id)

    def _custom(self, _: Input, __: Sequence[int]) -> Chooser:
        raise AssertionError

    def emit(self, *values: Any, stream: str = "default") -> None:
        self.collector.emit(values, stream, None, False)

    def grant(self, consumed: int, limit: int, task: int = SINK) -> None:
        assert self.outbox.on_grant(task, RECEIVER, Grant(MY_INCARNATION, consumed, limit))
