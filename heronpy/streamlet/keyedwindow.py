"""The key and the span of time that a result is of."""

from __future__ import annotations

from typing import Any

from heronpy.streamlet.impl.checks import refuse_unless
from heronpy.streamlet.window import Window


class KeyedWindow:
    """A key in a window: what `reduce_by_key_and_window` and joins pair their results with."""

    def __init__(self, key: Any, window: Window) -> None:
        refuse_unless(isinstance(window, Window), f"the window of a KeyedWindow is a Window, not {window!r}")
        self._key, self._window = key, window

    def get_key(self) -> Any:
        return self._key

    def get_window(self) -> Window:
        return self._window

    def __repr__(self) -> str:
        return f"KeyedWindow {{key: {self._key}, window: {self._window}}}"
