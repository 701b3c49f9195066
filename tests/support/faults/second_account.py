"""Another account on the same machine, and what it does there."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: it owns nothing of ours
STRANGER = 65534


def as_stranger(*command: str) -> None:
    """Run a command under that account, as careless as it likes."""
    subprocess.run(command, user=STRANGER, group=STRANGER, extra_groups=[], umask=0, cwd="/", check=True)


def opened_by_stranger(paths: Iterable[Path]) -> list[str]:
    """Which of these that account can list, read or write. Forked: it may not even execute our Python."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            found = "\0".join(str(path) for path in paths if _opens(path))
            with open(writer, "w") as output:
                output.write(found)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader) as answer:
        found = answer.read()
    assert os.waitpid(child, 0)[1] == 0
    return found.split("\0") if found else []


def _opens(path: Path) -> bool:
    for flags in (os.O_RDONLY, os.O_WRONLY):
        with contextlib.suppress(OSError):
            os.close(os.open(path, flags | os.O_NONBLOCK))
            return True
    return False


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A temporary folder as a machine has it: every account may write to it. Its path is short."""
    folder = Path(tempfile.mkdtemp(prefix="hps", dir="/tmp"))
    folder.chmod(0o1777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
