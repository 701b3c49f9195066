"""What a JVM and the workers below it write to standard error, without what Spark says of itself."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator

_OF_ITSELF = re.compile(
    rb"WARNING: (Using incubator modules|A terminally deprecated|sun\.misc\.|.*illegal)"
    rb"|Setting (default|Spark) log level to|To adjust logging level use"
)


@contextlib.contextmanager
def what_java_says() -> Iterator[None]:
    """A JVM that is started meanwhile has its standard error passed on, for as long as it runs."""
    kept = os.dup(2)
    ours, theirs = os.pipe()
    os.dup2(theirs, 2)
    os.close(theirs)
    threading.Thread(target=_pass_on, args=(ours, os.dup(kept)), name="java-output", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _pass_on(source: int, target: int) -> None:
    with open(source, "rb") as lines, open(target, "wb", buffering=0) as out:
        for line in lines:
            if not _OF_ITSELF.match(line):
                with contextlib.suppress(OSError):
                    out.write(line)
