"""Records that came when their windows had expired: how many, and what would have kept them."""

from __future__ import annotations

import bisect

from heronpy.kernel.config.units import format_duration

#: lateness that a line suggests, in microseconds
_STEPS = [unit * part for unit in (1_000, 1_000_000, 60_000_000, 3_600_000_000) for part in (1, 2, 5, 10, 30)]


class LateCount:
    """Of one step. Late records that another step reads as `.late` are not in it."""

    def __init__(self) -> None:
        self.dropped = 0
        #: microseconds by which the last of them was behind the end of its window
        self.latest = 0
        self._counts = [0] * (len(_STEPS) + 1)

    def add(self, behind: int, records: int = 1) -> None:
        """Records that came so long after the end of their window."""
        self.dropped += records
        self.latest = behind
        self._counts[bisect.bisect_right(_STEPS, behind)] += records

    def advice(self) -> str:
        """The least lateness that would have kept nine of ten, or all but the latest."""
        kept = 0
        for step, count in zip(_STEPS, self._counts, strict=False):
            kept += count
            if kept * 10 >= self.dropped * 9:
                return f"lateness={format_duration(step / 1_000_000)!r} would have kept {kept:,}"
        return "some were more than 30 h behind"

    def line(self, step: str) -> str:
        """count: dropped 12 late records (latest 3.2s behind; lateness='5s' would have kept 11)"""
        records = f"{self.dropped:,} late record{'' if self.dropped == 1 else 's'}"
        latest = format_duration(self.latest / 1_000_000)
        return f"{step}: dropped {records} (latest {latest} behind; {self.advice()})"
