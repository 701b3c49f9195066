"""Starts a process that outlives this one, in a session of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path


def start_detached(argv: Sequence[str], log_file: Path) -> int:
    """Returns the pid. The process has no terminal and no pipes; its output goes to the log file."""
    return os.posix_spawn(
        argv[0],
        list(argv),
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log_file), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigdef=[signal.SIGCHLD, signal.SIGPIPE],
    )
