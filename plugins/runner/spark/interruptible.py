"""A call that Ctrl-C ends: PySpark's own wait until the job is over, whatever is raised meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def waited_for(call: Callable[[], T]) -> T:
    """What the call returns or raises. KeyboardInterrupt is raised at once; the call is left to itself."""
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
