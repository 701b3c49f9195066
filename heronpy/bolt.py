"""Bolts: where tuples are processed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from heronpy.component import BaseComponent
from heronpy.spec import HeronComponentSpec, class_path, declared_outputs
from heronpy.stream import Stream
from heronpy.tuple import Tuple, TupleHelper

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class BaseBolt(BaseComponent):
    """What every bolt can do."""

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        inputs: Any = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
    ) -> HeronComponentSpec:
        """This bolt as part of a topology; `inputs` is `{spec: grouping}` or a list of specs (shuffle)."""
        outputs = declared_outputs(cls, optional_outputs)
        made = HeronComponentSpec(name, class_path(cls), False, par, inputs, outputs, config)
        made.component_class = cls
        return made

    def emit(
        self,
        tup: Sequence[Any],
        stream: str = Stream.DEFAULT_STREAM_ID,
        anchors: Sequence[Tuple] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Send one tuple, anchored to the tuples it was made from.

        Returns the task ids it went to if `need_task_ids` is set.
        """
        sent = self.delegate.emit(tup, stream, anchors, direct_task, need_task_ids)
        return cast("list[int] | None", sent)

    def emit_many(
        self,
        rows: Iterable[Sequence[Any]],
        stream: str = Stream.DEFAULT_STREAM_ID,
        anchors: Sequence[Tuple] | None = None,
    ) -> None:
        """Send many tuples of one stream: as emit() for each of them, for a fraction of the cost.

        All rows are checked before the first one leaves. Each of them is anchored to all the anchors.
        """
        self.delegate.emit_many(rows, stream, anchors)

    def emit_batch(
        self,
        batch: Any,
        stream: str = Stream.DEFAULT_STREAM_ID,
        anchors: Sequence[Tuple] | None = None,
        direct_task: int | None = None,
    ) -> None:
        """Send a pyarrow.RecordBatch of the stream's Schema, anchored as a whole.

        Memory that the batch shares with other objects, such as a NumPy array, must not be changed later.
        """
        self.delegate.emit_batch(batch, stream, anchors, direct_task)

    def ack(self, tup: Tuple) -> None:
        """This tuple is fully processed here."""
        self.delegate.ack(tup)

    def fail(self, tup: Tuple) -> None:
        """This tuple could not be processed: `fail` of its spout is called."""
        self.delegate.fail(tup)

    def watermark_of(self, key: object) -> int:
        """How far event time has come for a grouping key, for a bolt that has `on_watermark`.

        It never goes back for a key, also when the key moves to another task, and is at least what
        `on_watermark` was called with.
        """
        return cast("int", self.delegate.watermark_of(key))

    @property
    def watermarks_differ(self) -> bool:
        """Whether some keys may be further than `on_watermark` was told: after a change or a restore."""
        return cast("bool", self.delegate.watermarks_differ)

    @staticmethod
    def is_tick(tup: Tuple) -> bool:
        """Whether a tuple is a tick."""
        return tup.stream == TupleHelper.TICK_TUPLE_ID


class Bolt(BaseBolt):
    """Write `process`; declare `outputs = ["field", …]` if it emits; the rest may be left out."""

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Called once in the instance, before anything else."""

    def process(self, tup: Tuple) -> None:
        """Called for each tuple. With the guarantee at least once, ack or fail every tuple."""
        msg = f"{type(self).__qualname__} must define process(tup)"
        raise NotImplementedError(msg)

    def process_tick(self, tup: Tuple) -> None:
        """Called every `topology.tick.tuple.freq.secs` seconds, if the config has that."""

    def drain(self) -> None:
        """Called when this component is scaled or its container is restarted, before any state moves.

        All tuples received so far have been processed, and no more arrive. Emit and ack what is held outside
        of `self.state`: keys may move to another task, and this task may end.
        """

    def end_of_input(self) -> None:
        """Called once when all spouts upstream have finished and every tuple from them has been processed.

        Emit what is still held; no tuple and no tick follows. With at least once, all tuples are acked before
        this; what is emitted here is anchored to nothing and is not sent again if a process dies.
        """

    def on_plan_change(self, context: TopologyContext) -> None:
        """Called after the topology was scaled: `context` has the current tasks, `self.state` the keys.

        In a task that is new, it is the first call after `initialize`, which had no state yet.
        """

    def close(self) -> None:
        """Called last when the instance is stopped; never after a crash."""


class BasicBolt(Bolt):
    """A bolt that anchors and acks by itself.

    What `process` emits is anchored to the tuple it was given. The tuple is acked when `process` returns
    and failed when it raises, unless `process` did either itself.
    """

    #: the tuples being processed that are neither acked nor failed yet
    _open: Sequence[Tuple] = ()
    _anchors: Sequence[Tuple] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "process" in cls.__dict__:
            setattr(cls, "process", _acking(cls.process, _one))  # noqa: B010 - a method, to mypy
        if "process_batch" in cls.__dict__:
            setattr(cls, "process_batch", _acking(cls.__dict__["process_batch"], list))  # noqa: B010
        for name in ("process_rows", "process_columns"):
            if name in cls.__dict__:
                setattr(cls, name, _acking_whole(cls.__dict__[name]))

    def emit(
        self,
        tup: Sequence[Any],
        stream: str = Stream.DEFAULT_STREAM_ID,
        anchors: Sequence[Tuple] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        return super().emit(
            tup, stream, self._anchors if anchors is None else anchors, direct_task, need_task_ids
        )

    def emit_many(
        self,
        rows: Iterable[Sequence[Any]],
        stream: str = Stream.DEFAULT_STREAM_ID,
        anchors: Sequence[Tuple] | None = None,
    ) -> None:
        super().emit_many(rows, stream, self._anchors if anchors is None else anchors)

    def emit_batch(
        self,
        batch: Any,
        stream: str = Stream.DEFAULT_STREAM_ID,
        anchors: Sequence[Tuple] | None = None,
        direct_task: int | None = None,
    ) -> None:
        super().emit_batch(batch, stream, self._anchors if anchors is None else anchors, direct_task)

    def ack(self, tup: Tuple) -> None:
        self._close(tup)
        super().ack(tup)

    def fail(self, tup: Tuple) -> None:
        self._close(tup)
        super().fail(tup)

    def _close(self, tup: Tuple) -> None:
        self._open = [other for other in self._open if other is not tup]


def _one(tup: Tuple) -> list[Tuple]:
    return [tup]


def _acking(
    process: Callable[[Any, Any], None], tuples_of: Callable[[Any], list[Tuple]]
) -> Callable[[Any, Any], None]:
    def process_and_ack(self: BasicBolt, given: Any) -> None:
        if self._anchors is not None:
            # Called through super().process: the outermost call settles the tuple.
            process(self, given)
            return
        self._anchors = self._open = tuples_of(given)
        try:
            process(self, given)
        except Exception:
            for tup in self._open:
                self.fail(tup)
            raise
        else:
            for tup in self._open:
                self.ack(tup)
        finally:
            self._open, self._anchors = (), None

    return process_and_ack


def _acking_whole(process: Callable[..., None]) -> Callable[..., None]:
    wanted = 2 if takes_origin(process) else 1
    acking = _acking(lambda self, given: process(self, *given[:wanted]), lambda given: [given[1]])

    def process_whole(self: BasicBolt, batch: Any, origin: Tuple | None = None) -> None:
        acking(self, (batch, origin))

    return process_whole


def takes_origin(process_whole: Callable[..., Any]) -> bool:
    """Whether a function of a class, with `self`, wants the origin of a batch besides the batch."""
    return len(inspect.signature(process_whole).parameters) > 2
