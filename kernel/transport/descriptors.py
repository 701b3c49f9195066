"""How many files and connections this process may have open."""

from __future__ import annotations

import os
import resource

#: more than a process here ever needs; some programs go through all that are allowed
ENOUGH = 65536
#: unfinished handshakes that are held at most, however many descriptors there are: each takes memory, too
MOST_UNFINISHED = 2048


def raise_limit() -> None:
    """A process that others connect to may open as many files as its user allows, not the shell's 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def share_for_handshakes() -> int:
    """Connections that may be in their handshake: half of what is free. The rest is for files and peers."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = ENOUGH if soft == resource.RLIM_INFINITY else soft
    free = limit - len(os.listdir("/proc/self/fd"))
    return max(1, min(MOST_UNFINISHED, free // 2))
