"""A flood of complaints is a few lines."""

from __future__ import annotations

import logging

import pytest

from heronpy.kernel.logs.rate_limited import INTERVAL, RateLimitedLog


def test_a_flood_is_one_line_and_the_next_one_tells_of_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    complaints = RateLimitedLog(logging.getLogger("flooded"), lambda: now)
    for number in range(1000):
        complaints.warning("dropped frame %d", number)
    now += INTERVAL
    complaints.warning("dropped frame %d", 1000)
    now += INTERVAL
    complaints.warning("dropped frame %d", 1001)
    assert [record.getMessage() for record in caplog.records] == [
        "dropped frame 0",
        "dropped frame 1000 (999 more before it)",
        "dropped frame 1001",
    ]
