"""The nine records of "Streaming 102" in every way to show them: panes that were computed by another program.

Event time, arrival and value of each record, and two scripts of watermarks: one that knows (PERFECT) and one
that guesses and is overtaken by the nine (GUESSED). At one instant the clock comes first, then the watermark,
then the record.
"""

from __future__ import annotations

from typing import Any

from support.pipelines.window_script import shown

from heronpy.pipeline.times import END
from heronpy.pipeline.triggers import at_count, at_watermark, every
from heronpy.pipeline.windows import everything, sessions, tumbling

RECORDS = [
    ("12:00:26", "12:05:19", 5),
    ("12:01:26", "12:08:19", 9),
    ("12:02:26", "12:05:39", 7),
    ("12:03:06", "12:07:06", 8),
    ("12:03:39", "12:06:13", 3),
    ("12:04:19", "12:06:39", 4),
    ("12:06:39", "12:07:19", 3),
    ("12:07:26", "12:08:39", 8),
    ("12:07:46", "12:09:00", 1),
]
GUESSED = [("12:06", "12:02"), ("12:07:30", "12:04"), ("12:08", "12:06"), ("12:09:30", "12:08")]
PERFECT = [("12:08:30", "12:06"), ("12:09:30", "12:08")]
MINUTES = [f"12:{minute:02}" for minute in range(5, 11)]

fixed = tumbling("2m")
speculative = at_watermark(early=every("1m"))
TEN_MINUTES = 600_000_000

#: windows, watermarks, how, and what is shown when
Golden = tuple[Any, list[tuple[str, str]], dict[str, Any], list[str]]


def clock(now: int) -> str:
    if now == END:
        return "end"
    seconds = now // 1_000_000
    text = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}"
    return text if seconds % 60 == 0 else f"{text}:{seconds % 60:02}"


def table(panes: list[Any], *, ends: bool = False) -> list[str]:
    """One line for each instant: windows by their start, early (e), on time (o) or late (l), - takes back."""
    lines: dict[str, list[str]] = {}
    for now, result in panes:
        start = "" if result.window.start.year == 1 else shown(result.window.start)
        name = f"[{start},{shown(result.window.end)})" if ends else start
        said = f"-{result.value}" if result.retracts else f"{result.value}{result.pane.timing[0]}"
        lines.setdefault(clock(now), []).append(f"{name} {said}".strip())
    return [f"{now}: {', '.join(said)}" for now, said in lines.items()]


GOLDEN: dict[str, Golden] = {
    "1 batch, everything": (everything(), [], {}, ["end: 48o"]),
    "1 batch, fixed": (fixed, [], {}, ["end: 12:00 14o, 12:02 18o, 12:04 4o, 12:06 12o"]),
    "2a everything every minute, accumulating": (
        everything(),
        [],
        {"trigger": every("1m")},
        ["12:06: 12e", "12:07: 19e", "12:08: 30e", "12:09: 47e", "12:10: 48e"],
    ),
    "2a everything every minute, discarding": (
        everything(),
        [],
        {"trigger": every("1m"), "panes": "discarding"},
        ["12:06: 12e", "12:07: 7e", "12:08: 11e", "12:09: 17e", "12:10: 1e"],
    ),
    "2b everything, two by two": (
        everything(),
        [],
        {"trigger": at_count(2), "panes": "discarding"},
        ["12:05:39: 12e", "12:06:39: 7e", "12:07:19: 11e", "12:08:39: 17e", "end: 1o"],
    ),
    "3 fixed every minute": (
        fixed,
        [],
        {"trigger": every("1m")},
        [
            "12:06: 12:00 5e, 12:02 7e",
            "12:07: 12:02 10e, 12:04 4e",
            "12:08: 12:02 18e, 12:06 3e",
            "12:09: 12:00 14e, 12:06 11e",
            "12:10: 12:06 12e",
        ],
    ),
    "4a fixed, the watermark knows": (
        fixed,
        PERFECT,
        {},
        ["12:08:30: 12:00 14o, 12:02 18o, 12:04 4o", "12:09:30: 12:06 12o"],
    ),
    "4b fixed, the watermark guesses": (
        fixed,
        GUESSED,
        {},
        ["12:06: 12:00 5o", "12:07:30: 12:02 18o", "12:08: 12:04 4o", "12:09:30: 12:06 12o"],
    ),
    "5 early, on time and late, accumulating": (
        fixed,
        GUESSED,
        {"trigger": speculative, "lateness": TEN_MINUTES},
        [
            "12:06: 12:00 5e, 12:02 7e, 12:00 5o",
            "12:07: 12:02 10e, 12:04 4e",
            "12:07:30: 12:02 18o",
            "12:08: 12:06 3e, 12:04 4o",
            "12:08:19: 12:00 14l",
            "12:09: 12:06 11e",
            "12:09:30: 12:06 12o",
        ],
    ),
    "5 discarding": (
        fixed,
        GUESSED,
        {"trigger": speculative, "lateness": TEN_MINUTES, "panes": "discarding"},
        [
            "12:06: 12:00 5e, 12:02 7e",
            "12:07: 12:02 3e, 12:04 4e",
            "12:07:30: 12:02 8o",
            "12:08: 12:06 3e",
            "12:08:19: 12:00 9l",
            "12:09: 12:06 8e",
            "12:09:30: 12:06 1o",
        ],
    ),
    "5 retracting": (
        fixed,
        GUESSED,
        {"trigger": speculative, "lateness": TEN_MINUTES, "panes": "retracting"},
        [
            "12:06: 12:00 5e, 12:02 7e",
            "12:07: 12:02 -7, 12:02 10e, 12:04 4e",
            "12:07:30: 12:02 -10, 12:02 18o",
            "12:08: 12:06 3e",
            "12:08:19: 12:00 -5, 12:00 14l",
            "12:09: 12:06 -3, 12:06 11e",
            "12:09:30: 12:06 -11, 12:06 12o",
        ],
    ),
}

#: 6: a gap of 61 seconds, as 5 retracting; the eight and then the nine bridge what was two sessions
SESSIONS: Golden = (
    sessions("61s"),
    GUESSED,
    {"trigger": speculative, "lateness": TEN_MINUTES, "panes": "retracting"},
    [
        "12:06: [12:00:26,12:01:27) 5e, [12:02:26,12:03:27) 7e",
        "12:07: [12:03:39,12:05:20) 7e",
        "12:08: [12:02:26,12:03:27) -7, [12:03:39,12:05:20) -7, [12:02:26,12:05:20) 22e,"
        " [12:06:39,12:07:40) 3e",
        "12:08:19: [12:00:26,12:01:27) -5, [12:02:26,12:05:20) -22, [12:00:26,12:05:20) 36l",
        "12:09: [12:06:39,12:07:40) -3, [12:06:39,12:08:27) 11e",
        "12:10: [12:06:39,12:08:27) -11, [12:06:39,12:08:47) 12e",
    ],
)
