"""The one grammar for names that become paths, socket names or labels."""

from __future__ import annotations

import re

from heronpy.kernel.errors import TopologyError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def checked_name(kind: str, name: str) -> str:
    """The name itself, or a TopologyError saying what a name may hold."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        msg = (
            f"{kind} {name!r} is not a valid name: use 1 to 128 letters (a to z, A to Z), digits, '_', '-' or"
            " '.', not starting with '.' or '-'"
        )
        raise TopologyError(msg)
    return name
