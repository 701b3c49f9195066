"""Windows of processing time."""

from __future__ import annotations

from datetime import timedelta

from heronpy.streamlet.impl.checks import refuse_unless


class WindowConfig:
    """How long a window is, and how often one ends; whole seconds, as numbers or as timedeltas."""

    def __init__(self, window_duration: timedelta, slide_interval: timedelta) -> None:
        second = timedelta(seconds=1)
        for what, span in (("window duration", window_duration), ("slide interval", slide_interval)):
            refuse_unless(
                isinstance(span, timedelta) and span >= second and not span % second,
                f"the {what} {span!r} is not whole seconds",
                hint="10, or timedelta(seconds=10)",
            )
        refuse_unless(
            slide_interval <= window_duration,
            f"a slide interval of {slide_interval} leaves out what lies between two windows of"
            f" {window_duration}",
            hint="a slide interval of at most the window duration",
        )
        self._window_duration, self._slide_interval = window_duration, slide_interval

    @staticmethod
    def create_tumbling_window(window_duration: timedelta | int) -> WindowConfig:
        """Windows side by side."""
        return WindowConfig(_span(window_duration), _span(window_duration))

    @staticmethod
    def create_sliding_window(
        window_duration: timedelta | int, slide_interval: timedelta | int
    ) -> WindowConfig:
        """Windows that overlap: one ends every `slide_interval`."""
        return WindowConfig(_span(window_duration), _span(slide_interval))


def _span(given: timedelta | int) -> timedelta:
    return timedelta(seconds=given) if type(given) is int else given  # type: ignore[return-value]  # checked
