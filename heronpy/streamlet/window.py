"""The span of time that a result is of."""

from __future__ import annotations


class Window:
    """From `start_time` on and before `end_time`, in whole seconds since the epoch."""

    def __init__(self, start_time: int, end_time: int) -> None:
        self._start_time, self._end_time = start_time, end_time

    def get_start_time(self) -> int:
        return self._start_time

    def get_end_time(self) -> int:
        return self._end_time

    def __repr__(self) -> str:
        return f"Window {{start_time: {self._start_time}, end_time: {self._end_time}}}"
