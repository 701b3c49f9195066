"""Waits that end when they are to end."""

from __future__ import annotations

import ctypes

_PR_SET_TIMERSLACK = 29
#: found once, in the zygote: a library that is opened anew is a class of its own, in pages of the process
_prctl = ctypes.CDLL(None).prctl


def end_waits_on_time() -> None:
    """Of this thread, and of those that it starts: else the kernel adds up to 50 microseconds to each."""
    _prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
