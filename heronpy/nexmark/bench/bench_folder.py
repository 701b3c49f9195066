"""The folder through which the processes of a measured run and the command that measures it meet."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BenchFolder:
    """Who generates events writes how long that took; who counts results writes how many there are."""

    path: Path

    def has_generated(self, part: str, seconds: float) -> None:
        """All events of a part are in memory."""
        unfinished = self.path / f"unfinished-{part}"
        unfinished.write_text(str(seconds))
        unfinished.rename(self.path / f"generated-{part}")

    def generation(self) -> list[float]:
        """Seconds of each part whose events are in memory."""
        return [float(file.read_text()) for file in self.path.glob("generated-*")]

    def start(self) -> None:
        """Let the sources give what they have generated."""
        self._started.touch()

    def is_started(self) -> bool:
        return self._started.exists()

    def add_results(self, name: str, count: int) -> None:
        """So many results are visible under a name; the second time, they are the same."""
        # the folder is gone when a process outlives the run, and missing on other machines
        with contextlib.suppress(FileNotFoundError):
            (self.path / f"results-{name}").write_text(str(count))

    def results(self) -> int:
        """How many are visible."""
        return sum(int(file.read_text()) for file in self.path.glob("results-*"))

    @property
    def _started(self) -> Path:
        return self.path / "started"
