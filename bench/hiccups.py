"""The hiccup control: a process that does nothing but sleep for a millisecond, and notes how late it wakes.

What it sees is the machine's doing, not an engine's: nothing is subtracted, but a latency beyond p99 says
nothing where the control's own p99.9 is above 10 ms.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from types import TracebackType
from typing import Any

from bench.histogram import Histogram

PERIOD = 0.001
#: microseconds of the control's p99.9, above which tails are void
VOID = 10_000


class Hiccups:
    """Runs the control for as long as the block lasts."""

    def __enter__(self) -> Hiccups:
        command = [sys.executable, "-m", "bench.hiccups"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.histogram = Histogram()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        said, _ = self._process.communicate()
        self.histogram = Histogram.from_plain(json.loads(said or b"{}"))


def _stop(*_: Any) -> None:
    raise SystemExit


def main() -> None:
    late: Counter[int] = Counter()
    signal.signal(signal.SIGTERM, _stop)
    try:
        while True:
            due = time.monotonic() + PERIOD
            time.sleep(PERIOD)
            late[int((time.monotonic() - due) * 1e6)] += 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(json.dumps(Histogram(late.items()).to_plain()))


if __name__ == "__main__":
    main()
