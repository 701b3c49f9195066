"""Spouts: where tuples come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from heronpy.component import BaseComponent
from heronpy.spec import HeronComponentSpec, class_path, declared_outputs
from heronpy.stream import Stream

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class BaseSpout(BaseComponent):
    """What every spout can do."""

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
    ) -> HeronComponentSpec:
        """This spout as part of a topology. Without a name it gets that of the class attribute."""
        outputs = declared_outputs(cls, optional_outputs)
        made = HeronComponentSpec(name, class_path(cls), True, par, outputs=outputs, config=config)
        made.component_class = cls
        return made

    def emit(
        self,
        tup: Sequence[Any],
        tup_id: Any = None,
        stream: str = Stream.DEFAULT_STREAM_ID,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Send one tuple; with `tup_id`, `ack(tup_id)` or `fail(tup_id)` is called later.

        Returns the task ids it went to if `need_task_ids` is set.
        """
        sent = self.delegate.emit(tup, tup_id, stream, direct_task, need_task_ids)
        return cast("list[int] | None", sent)

    def emit_many(
        self, rows: Iterable[Sequence[Any]], tup_id: Any = None, stream: str = Stream.DEFAULT_STREAM_ID
    ) -> None:
        """Send many tuples of one stream: as emit() for each of them, for a fraction of the cost.

        All rows are checked before the first one leaves. With `tup_id` they are one tree: `ack(tup_id)` is
        called when all of them are fully processed, `fail(tup_id)` when one failed or timed out.
        """
        self.delegate.emit_many(rows, tup_id, stream)

    def emit_batch(
        self,
        batch: Any,
        tup_id: Any = None,
        stream: str = Stream.DEFAULT_STREAM_ID,
        direct_task: int | None = None,
    ) -> None:
        """Send a pyarrow.RecordBatch of the stream's Schema. With `tup_id` its rows are one tree.

        Memory that the batch shares with other objects, such as a NumPy array, must not be changed later.
        """
        self.delegate.emit_batch(batch, tup_id, stream, direct_task)

    def finish(self) -> None:
        """This task has no more tuples to emit: its input has ended.

        `next_tuple` is not called again, unless a tuple fails or the task gets splits of another: then it is
        called until the next `finish()`.
        When all tasks of all spouts have finished and everything has been processed, the topology is
        FINISHED and `heronpy run` ends.
        """
        self.delegate.finish()


class Spout(BaseSpout):
    """Write `next_tuple`; declare `outputs = ["field", …]`; the rest may be left out.

    A partitioned source declares its parts: `splits = ["a", "b"]`, a number, or a classmethod
    `splits(cls, config)` that is called once, at submit. In the instance `self.splits` is the tuple of splits
    assigned to this task; it is replaced when the topology is scaled. `self.state[split]` holds the position
    in each split.
    """

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Called once in the instance, before anything else."""

    def next_tuple(self) -> None:
        """Emit the next tuple, or nothing. Called again and again; must not block for long."""
        msg = f"{type(self).__qualname__} must define next_tuple()"
        raise NotImplementedError(msg)

    def due_in(self) -> float | None:
        """Seconds until `next_tuple` has something to emit; None if that is not known.

        Asked after a `next_tuple` that emitted nothing. That is called again when they are over, to a
        fraction of a millisecond, or earlier. Where it is not known, `next_tuple` is called again and again,
        with growing pauses: `spout.idle_min` to `spout.idle_max`, and up to 0.5 s (2 % of the silence)
        when nothing comes for long.
        """
        return None

    def fd(self) -> int | None:
        """A file descriptor that is readable when `next_tuple` has something to emit; None if there is none.

        Asked with `due_in`: `next_tuple` is called when it is readable, and twice a second.
        """
        return None

    def ack(self, tup_id: Any) -> None:
        """The tuple emitted with this id is fully processed."""

    def fail(self, tup_id: Any) -> None:
        """The tuple emitted with this id failed or timed out: emit it again, or give it up."""

    def activate(self) -> None:
        """Called when the topology resumes after a pause."""

    def deactivate(self) -> None:
        """Called when the topology pauses: `next_tuple` is not called until `activate`."""

    def drain(self) -> None:
        """Called when this component is scaled or its container is restarted, before any state moves.

        `next_tuple` is not called meanwhile. Emit what is held outside of `self.state`: splits may move to
        another task, and this task may end.
        """

    def on_plan_change(self, context: TopologyContext) -> None:
        """Called after the topology was scaled: `context`, `self.splits` and `self.state` are up to date.

        In a task that is new, it is the first call after `initialize`, which had no state yet.
        """

    def close(self) -> None:
        """Called last when the instance is stopped; never after a crash."""
