"""emit() for plain roots, which most are: one tuple of immutable values, no named task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, Protocol

from heronpy.instances.acking.anchored import Edges
from heronpy.instances.acking.roots import Roots
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.collector import PlainWays


class SpoutEmit(Protocol):
    """emit() as a spout calls it."""

    def __call__(
        self,
        tup: Any,
        tup_id: Any = None,
        stream: str = "default",
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None: ...


def short_emit(  # noqa: C901 - as hot as the untracked one, hence also on one screen
    ways: PlainWays,
    roots: Roots,
    emit_long: SpoutEmit,
    plant: Callable[[Any, int], Sequence[Edges]],
    stamp: Callable[[], None],
) -> SpoutEmit:
    """One call per tuple, with everything in local variables; other tuples use the full emit()."""
    settled, emitted, thread, opened, grown, choices = ways
    names, add_xor, add_id = roots.names, roots.xors.append, roots.ids.append

    def emit(
        tup: Any,
        tup_id: Any = None,
        stream: str = "default",
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        if tup_id is None or direct_task is not None or need_task_ids or stream not in choices:
            return emit_long(tup, tup_id, stream, direct_task, need_task_ids)
        row = tuple(tup)
        width, choose = choices[stream]
        if len(row) != width or get_ident() != thread[0]:
            return emit_long(row, tup_id, stream)
        for value in row:
            if type(value) not in settled:
                return emit_long(row, tup_id, stream)
        lanes = choose(row)
        emitted[stream] += 1
        if len(lanes) != 1:
            for lane, edges in zip(lanes, plant(tup_id, len(lanes)), strict=True):
                lane.edges.append(edges)
                lane.rows.append(row)
                leave(lane)
            return None
        root = next(names)
        add_xor(root)
        add_id(tup_id)
        lane = lanes[0]
        lane.edges.append(root)
        rows = lane.rows
        rows.append(row)
        size = len(rows)
        if size == 1 or size >= lane.due:
            leave(lane)
        return None

    def leave(lane: Lane) -> None:
        if len(lane.rows) == 1:
            stamp()
            opened(lane)
        elif len(lane.rows) >= lane.due:
            stamp()
            grown(lane)

    return emit
