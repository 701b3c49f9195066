"""A disk that is nearly full."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator

import pytest

LIMIT = 4096


@pytest.fixture
def half_full() -> Iterator[int]:
    """Files of this process end at 4 KB; gives a number of lines that only begins to fit."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    try:
        yield LIMIT // 50
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
