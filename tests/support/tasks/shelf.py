"""A checkpoint store in memory, which can refuse to write and to finish writing."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from heronpy.kernel.config import Config
from heronpy.kernel.errors import ObjectMissing, StoreError
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore, checked_object


class Shelf(CheckpointStore):
    """Keeps the objects in a dict."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        #: why nothing can be written
        self.refusal = ""
        #: writing ends when it is set
        self.open = threading.Event()
        self.open.set()
        self.closed = 0

    def initialize(self, config: Config) -> None:
        """Needs none."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        data = b"".join(chunks)
        self.open.wait()
        if self.refusal:
            raise StoreError(self.refusal)
        self.objects[checked_object(name)] = data

    def read(self, name: str) -> bytes:
        if name not in self.objects:
            msg = f"no object {name}"
            raise ObjectMissing(msg)
        return self.objects[name]

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix))

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def close(self) -> None:
        self.closed += 1
