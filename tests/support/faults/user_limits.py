"""Limits that the kernel keeps for a user, lowered for one test: in a user namespace of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from support.clusters.namespaces import Holder
from support.suite.needs import needs_namespaces


@contextlib.contextmanager
def inotify_instances(most: int) -> Iterator[tuple[str, ...]]:
    """What to put in front of commands, so that all of them together have at most so many instances."""
    needs_namespaces()
    lower = f'echo {most} > /proc/sys/user/max_inotify_instances && exec "$@"'
    holder = Holder("unshare", "--user", "--map-root-user", "sh", "-c", lower, "sh")
    try:
        yield ("nsenter", f"--user={holder.folder}/ns/user", "--preserve-credentials")
    finally:
        holder.close()
