"""In front of PYTHONPATH: every step of every process is written down, and one ends at a chosen one."""

import os
import signal
import sys
from pathlib import Path

_HERE = Path(__file__).parent


def _on_event(event: str, args: tuple[object, ...]) -> None:
    if event != "heronpy.step":
        return
    name = str(args[0])
    with (_HERE / "steps").open("a") as file:
        file.write(f"{os.getpid()} {name}\n")
    for armed in ("crash_at", "cut_at"):
        if (_HERE / armed / name).exists():
            try:
                (_HERE / armed / name).rename(_HERE / "crashed" / name)
            except OSError:  # another process was faster
                return
            if armed == "cut_at":
                with (Path(os.environ["SYNCED_NOTES"]) / "journal").open("a") as journal:
                    journal.write("C\n")
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(_on_event)
