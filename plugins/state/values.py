"""How much a node can hold, whichever store keeps it."""

from __future__ import annotations

from heronpy.kernel.errors import StateError
from heronpy.kernel.plugin.state_manager import MAX_VALUE


def check_size(path: str, value: bytes) -> None:
    """A value that is too large is refused before anything is touched."""
    if len(value) > MAX_VALUE:
        msg = f"a value of {len(value)} bytes for {path} is too large: a node holds {MAX_VALUE} bytes"
        raise StateError(msg)
