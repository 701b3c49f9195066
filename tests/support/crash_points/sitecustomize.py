"""In front of PYTHONPATH: every step of every process is written down, and one is killed at a chosen one."""

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
    if (_HERE / "crash_at" / name).exists():
        try:
            (_HERE / "crash_at" / name).rename(_HERE / "crashed" / name)
        except OSError:  # another process was faster
            return
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(_on_event)
