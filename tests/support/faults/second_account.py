"""Another account on the same machine, and what it does there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: it owns nothing of ours
STRANGER = 65534


def as_stranger(*command: str) -> None:
    """Run a command under that account, as careless as it likes."""
    subprocess.run(command, user=STRANGER, group=STRANGER, extra_groups=[], umask=0, cwd="/", check=True)


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A temporary folder as a machine has it: every account may write to it. Its path is short."""
    folder = Path(tempfile.mkdtemp(prefix="hps", dir="/tmp"))
    folder.chmod(0o1777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
