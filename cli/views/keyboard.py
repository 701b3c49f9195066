"""Single key presses from a terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator

from heronpy.cli.views.output import is_terminal

#: waits at most so many seconds for a key; "" when none came
Pressed = Callable[[float], str]


@contextlib.contextmanager
def keyboard() -> Iterator[Pressed]:
    """Keys without Enter while the block lasts; without a terminal only the time passes."""
    if not is_terminal(sys.stdin):
        yield _nothing_pressed
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield lambda timeout: _pressed(descriptor, timeout)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _pressed(descriptor: int, timeout: float) -> str:
    ready, _, _ = select.select([descriptor], [], [], timeout)
    if not ready:
        return ""
    data = os.read(descriptor, 1)
    if not data:
        # the terminal is gone: it stays readable, so do not spin
        time.sleep(timeout)
    return data.decode(errors="replace")


def _nothing_pressed(timeout: float) -> str:
    time.sleep(timeout)
    return ""
