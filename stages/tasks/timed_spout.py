"""A stage that reads a source with event time: it keeps how far each split has come beside its position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heronpy.connectors import Chunk
from heronpy.operators.event_timing import LOOK, SplitTime
from heronpy.operators.failing import blamed_on
from heronpy.operators.kept import Kept
from heronpy.stages.tasks.stage_spout import StageSpout

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class TimedPosition(Kept):
    """What is saved of a split."""

    __slots__ = ("position", "times")

    def __init__(self, position: Any, times: dict[str, SplitTime]) -> None:
        self.position = position
        #: step with event time → how far the split has come
        self.times = times


class TimedStageSpout(StageSpout):
    """Says behind its rows how far they have come. A task without splits is idle: none waits for it."""

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self._looked = 0
        self._said: tuple[tuple[int, bool], dict[str, tuple[int, bool]]] | None = None
        #: split → the position behind what it has given; in the state only when that is saved
        self._behind: dict[str, Any] = {}
        super().initialize(config, context)

    def _assign(self) -> None:
        if self._has_read:
            self._keep()
        saved = {split: self.state.get(split) for split in self._owned}
        # an older pipeline may have had no event time
        self._behind = {
            split: kept.position if isinstance(kept, TimedPosition) else kept for split, kept in saved.items()
        }
        self._left_out: set[str] = set()
        super()._assign()
        self._look()
        times = {split: kept.times for split, kept in saved.items() if isinstance(kept, TimedPosition)}
        self._logic.read(self._owned, times)
        self._say(anew=True)

    def _positions(self) -> dict[str, Any]:
        return {split: self._behind.get(split) for split in self._owned}

    def next_tuple(self) -> None:
        self._look()
        super().next_tuple()
        self._say()
        self._leave_out(self._left.intersection(self._logic.waiting()))

    def _poll(self) -> Chunk[Any] | None:
        chunk = super()._poll()
        self._logic.nothing(self._left - self._left_out if chunk is None else self._reader.silent())
        return chunk

    def _take(self, chunk: Chunk[Any]) -> None:
        self._logic.arrives(chunk.split, chunk.watermark, caught_up=chunk.caught_up)
        super()._take(chunk)
        if chunk.ended:
            self._logic.over(chunk.split)
        elif not chunk.records:
            self._logic.settle(chunk.split)

    def _leave_out(self, splits: set[str]) -> None:
        """Read all but these, which are too far ahead."""
        if splits != self._left_out:
            self._left_out = splits
            with blamed_on(self._step):
                self._reader.assign({split: self._behind.get(split) for split in self._left - splits})

    def _note(self, split: str, position: Any) -> None:
        self._behind[split] = position

    def _look(self) -> None:
        now = self.delegate.processing_time()
        if abs(now - self._looked) >= LOOK:
            self._looked = now
            self._logic.clock(now)

    def _say(self, *, anew: bool = False) -> None:
        """How far the splits have come, if that is news."""
        lowest, further = self._logic.lowest, self._logic.further
        if lowest is not None and (anew or (lowest, further) != self._said):
            self._said = lowest, further
            self.delegate.emit_watermark(*lowest, further)

    def on_plan_change(self, context: TopologyContext) -> None:
        super().on_plan_change(context)
        self._say(anew=True)

    def held_by(self) -> str | None:
        """What keeps event time back, or a split that runs ahead of it, in words."""
        return self._logic.held_by() or next(iter(self._logic.waiting().values()), None)

    def pre_save(self, checkpoint_id: str) -> None:
        super().pre_save(checkpoint_id)
        self._keep()

    def _keep(self) -> None:
        for split, position in self._behind.items():
            if split in self._owned:
                self.state[split] = TimedPosition(position, self._logic.split_times(split))
