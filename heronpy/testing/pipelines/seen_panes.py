"""Panes as a test writes them down: key, value, window and timing."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from heronpy.pipeline.records import Result, Timing
from heronpy.testing.pipelines.moments import Moment, moment


class SeenPane(NamedTuple):
    """One result of a window. Panes are compared by what is here; `Result` has all."""

    key: Any
    value: Any
    start: datetime
    end: datetime
    timing: Timing
    retracts: bool = False


def pane_of(result: Result[Any, Any]) -> SeenPane:
    window = result.window
    return SeenPane(result.key, result.value, window.start, window.end, result.pane.timing, result.retracts)


def early(key: Any, value: Any, start: Moment, end: Moment) -> SeenPane:
    """A pane before the watermark has passed the end of its window."""
    return SeenPane(key, value, moment(start), moment(end), "early")


def on_time(key: Any, value: Any, start: Moment, end: Moment) -> SeenPane:
    """The pane of the watermark."""
    return SeenPane(key, value, moment(start), moment(end), "on_time")


def late(key: Any, value: Any, start: Moment, end: Moment) -> SeenPane:
    """A pane behind the one on time."""
    return SeenPane(key, value, moment(start), moment(end), "late")


def taken_back(pane: SeenPane) -> SeenPane:
    """The same pane as a retraction."""
    return pane._replace(retracts=True)
