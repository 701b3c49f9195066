"""A spout that is due in 300 microseconds is not asked in 350."""

from __future__ import annotations

import ctypes
import threading

from heronpy.kernel.machine.short_waits import end_waits_on_time

_PR_GET_TIMERSLACK = 30


def _slack() -> int:
    """Nanoseconds that the kernel may add to a wait of this thread."""
    return int(ctypes.CDLL(None).prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0))


def test_waits_of_a_thread_and_of_those_it_starts_end_on_time() -> None:
    found: list[int] = []

    def ask() -> None:
        end_waits_on_time()
        started = threading.Thread(target=lambda: found.append(_slack()))
        started.start()
        started.join()
        found.append(_slack())

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    assert found == [1, 1]
