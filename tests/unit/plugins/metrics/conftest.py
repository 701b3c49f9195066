"""A disk that is nearly full."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Callable, Iterator

import pytest

LIMIT = 4096


@pytest.fixture
def half_full() -> Callable[[], contextlib.AbstractContextManager[int]]:
    """While the block lasts files end at 4 KB; it gives a number of lines that only begins to fit.

    A block, not the whole test: pytest itself writes between a test and its teardown, perhaps to a file.
    """
    return _half_full


@contextlib.contextmanager
def _half_full() -> Iterator[int]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    try:
        yield LIMIT // 50
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
