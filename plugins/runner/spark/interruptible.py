"""What Ctrl-C ends at once, and what it does not end: the wait for a job, and its commit."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def waited_for(call: Callable[[], T]) -> T:
    """What the call returns or raises. KeyboardInterrupt is raised at once; the call is left to itself.

    PySpark's own calls wait until the job is over, whatever is raised meanwhile.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="spark-job", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """SIGINT and SIGTERM have their effect behind the block.

    By handlers, because a mask of this thread leaves the signal to another thread of the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread
        return
    came: list[int] = []

    def keep(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signal calls it
        came.append(number)

    kept = {number: signal.signal(number, keep) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for held in dict.fromkeys(came):
            signal.raise_signal(held)
