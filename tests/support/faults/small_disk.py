"""A disk with little room, which a normal user may have as well: mounted where only its holder sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from support.clusters.namespaces import Holder
from support.suite.needs import needs_namespaces, own_user


@contextlib.contextmanager
def small_disk(kilobytes: int) -> Iterator[Path]:
    """Everybody else reaches it through the holder's folder in /proc, until the holder ends."""
    needs_namespaces()
    mount = f"mount -t tmpfs -o size={kilobytes}k,mode=700 tmpfs /mnt"
    holder = Holder("unshare", *own_user(), "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh")
    try:
        yield Path(f"{holder.folder}/root/mnt")
    finally:
        holder.close()
