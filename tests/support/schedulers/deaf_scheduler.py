"""A scheduler that cannot reach the containers it replaces, as when their machine is cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from heronpy.kernel.plugin import Scheduler, hookimpl
from heronpy.plugins.scheduler.local import LocalScheduler

METADATA = "Metadata-Version: 2.1\nName: heronpy-deaf-scheduler\nVersion: 0.1.0\n"


class DeafScheduler(LocalScheduler):
    """Starts the next container beside the one that it should end."""

    def on_restart(self, containers: Sequence[int]) -> None:
        for container in containers:
            old = self._running.pop(container, None)
            if old is not None:
                old.release()
                self._records.remove(container)
        self._start(containers)


@hookimpl
def heron_schedulers() -> Mapping[str, type[Scheduler]]:
    return {"deaf": DeafScheduler}


def install(folder: Path) -> None:
    """Make the folder, once it is on PYTHONPATH, one that has this plugin installed."""
    (folder / "heronpy_deaf_scheduler.py").write_text(Path(__file__).read_text())
    package = folder / "heronpy_deaf_scheduler-0.1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text(METADATA)
    (package / "entry_points.txt").write_text("[heronpy]\ndeaf = heronpy_deaf_scheduler\n")
