"""What a window step keeps, in words: accumulators of one kind are of no use to another."""

from __future__ import annotations

from heronpy.kernel.config.units import format_duration
from heronpy.operators.windows.slices import SliceCore
from heronpy.operators.windows.windowing import core_of, rules_of
from heronpy.pipeline.graph import WindowOp
from heronpy.pipeline.triggers import AtWatermark
from heronpy.pipeline.windows import AlignedWindows, EverythingWindow, SessionWindows, Windows


def window_shape(op: WindowOp, *, retractions: bool) -> str:
    """aggregate count in windows of 10s every 5s, by slices"""
    slices = isinstance(core_of(rules_of(op), retractions=retractions), SliceCore)
    # a trigger keeps something for each of its parts
    trigger = "" if op.trigger == AtWatermark() else f", shown by {op.trigger}"
    return f"aggregate {op.aggregate.name} in {_said(op.windows)}{trigger}{', by slices' if slices else ''}"


def _said(windows: Windows) -> str:
    match windows:
        case AlignedWindows(size=size, every=every, offset=offset):
            slide = f" every {_time(every)}" if every != size else ""
            return f"windows of {_time(size)}{slide}{f' from {_time(offset)} on' if offset else ''}"
        case SessionWindows(gap=gap):
            return f"sessions of {_time(gap)}"
        case EverythingWindow():
            return "everything"
    return f"windows by {type(windows).__qualname__}"


def _time(micros: int) -> str:
    return format_duration(micros / 1_000_000)
