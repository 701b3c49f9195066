"""What a process that user code forks (multiprocessing does) must not take over from its instance."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

_ENDING = (signal.SIGTERM, signal.SIGINT)


def guard_forks(in_child: Callable[[], None]) -> None:
    """From now on forked processes end by signals as any process does, and `in_child` runs in each.

    The instance's own handlers only set a flag, which a forked process never checks. A signal may arrive
    before they are removed, as with a Process that is terminated right after its start, so signals are
    blocked across the fork.
    """
    masks = threading.local()

    def before() -> None:
        masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)

    def in_parent() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.before)

    def after() -> None:
        in_child()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.before)

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=after)
