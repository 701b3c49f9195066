"""A flood of complaints is a few lines."""

from __future__ import annotations

import logging

import pytest

from heronpy.kernel.logs.rate_limited import BURST, INTERVAL, MOST, SPACING, RateLimitedLog, Repeats


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


class Lines(logging.Handler):
    """What is written of the lines of a logger."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.now = 100.0
        self.written: list[str] = []
        self.repeats = Repeats(lambda: self.now)
        self.addFilter(self.repeats)
        self.log = logging.Logger(name)
        self.log.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(record.getMessage())


def test_an_error_in_every_second_of_an_hour_leaves_room_for_others() -> None:
    lines = Lines("heronpy.kernel.master")
    for checkpoint in range(3600):
        lines.log.error("checkpoint %d was given up: %s", checkpoint, "100% full")
        lines.now += 1
    lines.log.error("another error")
    told = [line for line in lines.written if line.startswith("checkpoint ")]
    assert len(told) == BURST + 3599 // SPACING
    assert told[1] == "checkpoint 1 was given up: 100% full"
    assert told[-1] == "checkpoint 3594 was given up: 100% full (5 more like it before)"
    assert lines.written[-1] == "another error"


def test_what_is_no_complaint_of_the_engine_is_always_written() -> None:
    engine, component = Lines("heronpy.kernel.master"), Lines("count[1]")
    for _ in range(1000):
        engine.log.info("checkpoint begun")
        component.log.error("no such word")
    assert (len(engine.written), len(component.written)) == (1000, 1000)


def test_different_complaints_take_no_more_and_more_memory() -> None:
    lines = Lines("heronpy.kernel.master")
    for number in range(1000):
        lines.log.error("damaged: %s", "x" * number)
    assert len(lines.written) == 1000
    assert len(lines.repeats._known) == MOST
