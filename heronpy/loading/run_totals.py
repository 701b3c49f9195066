"""What a run has done, in a line."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import RunTotals


def totals_line(name: str, totals: RunTotals, seconds: float) -> str:
    """wordcount: read 3 records (lines), wrote 5 (printed) in 0.2 s; nothing failed."""
    read, written = sum(totals.read.values()), sum(totals.written.values())
    done = []
    if totals.read:
        done.append(f"read {read:,} record{'' if read == 1 else 's'} ({_by_step(totals.read)})")
    if totals.written:
        done.append(f"wrote {written:,} ({_by_step(totals.written)})")
    failed = f"{sum(totals.failed.values()):,} failed ({_by_step(totals.failed)})"
    done_in = f"{', '.join(done) or 'done'} in {seconds:.1f} s"
    ends = [failed if totals.failed else "nothing failed", *totals.late]
    return f"{name}: {done_in}; {'; '.join(ends)}"


def _by_step(counts: Mapping[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{step} {count:,}" for step, count in counts.items())
