"""A stage behind an exchange that goes by time: windows, timers, triggers, or records with a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from heronpy.pipeline.times import BEGINNING, END
from heronpy.stages.tasks.stage_bolt import StageBolt
from heronpy.stages.tasks.step_state import shares_cells
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

#: the key of a cell of no step: how far a task without keys has come
WATERMARK: Final = "watermark"


class TimedStageBolt(StageBolt):
    """Does what is due when its input has come further, and only then says so behind its own rows."""

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        super().initialize(config, context)
        self._said: tuple[tuple[int, bool], dict[str, tuple[int, bool]]] | None = None
        #: how far the task has come, as it was saved: the engine saves that for keys, and this one has none
        self._saved = BEGINNING
        #: whether there is a place for that: without cells each key of the state is one of the step's own
        self._saves = not self.keyed and shares_cells(self._stage)
        if self._saves and (cell := self.state.get(WATERMARK)) is not None:
            self._saved = cell[""]
        self._logic.reload()
        self._logic.advance_all(self._saved)

    def process_batch(self, tuples: list[Tuple]) -> None:
        self._judge()
        if self._logic.goes_by_clock:
            self._logic.tell(self.delegate.processing_time())
        self._arrive()
        super().process_batch(tuples)
        self._say()

    def _arrive(self) -> None:
        """Rows are about to be taken, and the steps know how late it is."""

    def on_watermark(self, at: int, idle: bool) -> Iterator[None]:
        """The input has come so far: all of it, whatever its keys. Sockets are served in the pauses."""
        self._judge()
        yield from self._logic.advancing_all(max(at, self._saved), idle=idle)
        self._say(anew=True)

    def on_clock(self, now: int) -> Iterator[None]:
        """Processing time has come to what was due. Sockets are served in the pauses."""
        self._judge()
        yield from self._logic.clocking(now)
        self._say()

    def due(self) -> int | None:
        """The processing time for which a step waits."""
        return self._logic.due

    def _judge(self) -> None:
        self._logic.judge_by(self.watermark_of if self.watermarks_differ else None)

    def _say(self, *, anew: bool = False) -> None:
        """How far its rows have come, if that is news."""
        lowest, further = self._logic.lowest, self._logic.further
        if lowest is not None and (anew or (lowest, further) != self._said):
            self._said = lowest, further
            self.delegate.emit_watermark(*lowest, further)

    def end_of_input(self) -> None:
        self._logic.advance_all(END)  # also where a task had nothing to say
        super().end_of_input()
        self._say()

    def on_plan_change(self, context: TopologyContext) -> None:
        super().on_plan_change(context)
        self._logic.reload()

    def pre_save(self, checkpoint_id: str) -> None:
        super().pre_save(checkpoint_id)
        if self._saves:
            self.state[WATERMARK] = {"": self._logic.floor}


class TimedKeyedStageBolt(TimedStageBolt):
    """… and whose state is by key."""

    keyed = True
