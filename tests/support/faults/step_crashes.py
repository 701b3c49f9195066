"""Makes the processes of a topology write down every step that they take, and die at chosen ones."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from support.running.engine import wait_until

_HOOK = Path(__file__).parent / "crash_points" / "sitecustomize.py"


class StepCrashes:
    """A folder in front of the PYTHONPATH of a topology."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("crash_at", "cut_at", "crashed"):
            (folder / name).mkdir(parents=True)
        shutil.copy(_HOOK, folder)
        (folder / "steps").touch()

    def pythonpath(self) -> str:
        """For whoever submits the topology."""
        return os.pathsep.join([str(self._folder), *filter(None, [os.environ.get("PYTHONPATH")])])

    def arm(self, step: str) -> None:
        """The next process that takes this step is killed there, and only that one."""
        (self._folder / "crashed" / step).unlink(missing_ok=True)
        (self._folder / "crash_at" / step).touch()

    def arm_cut(self, step: str) -> None:
        """From the moment when a process takes this step, its disk (support/power) has no power."""
        (self._folder / "crashed" / step).unlink(missing_ok=True)
        (self._folder / "cut_at" / step).touch()

    def disarm(self) -> None:
        for armed in ("crash_at", "cut_at"):
            for path in (self._folder / armed).iterdir():
                path.unlink(missing_ok=True)

    def hit(self, step: str) -> bool:
        return (self._folder / "crashed" / step).exists()

    def wait_hit(self, step: str, timeout: float, detail: Callable[[], str] = str) -> None:
        wait_until(lambda: self.hit(step), timeout, f"somebody dies at {step}", detail)

    def taken(self) -> Counter[str]:
        """How often each step has been taken by now."""
        lines = (self._folder / "steps").read_text().splitlines()
        return Counter(line.split()[1] for line in lines if len(line.split()) == 2)
