"""The objects of one component in the checkpoint store, by names of their own."""

from __future__ import annotations

from collections.abc import Iterable

from heronpy.kernel.errors import ObjectMissing
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore


class Shelf:
    """What a sink or a spout shares with Spark. Names are relative to its place in the store."""

    def __init__(self, store: CheckpointStore, prefix: str) -> None:
        self.store = store
        self.prefix = prefix

    def write(self, name: str, data: Iterable[bytes] | bytes) -> None:
        self.store.write(f"{self.prefix}/{name}", [data] if isinstance(data, bytes) else data)

    def read(self, name: str) -> bytes:
        return self.store.read(f"{self.prefix}/{name}")

    def find(self, name: str) -> bytes | None:
        """The object, or None if there is none."""
        try:
            return self.read(name)
        except ObjectMissing:
            return None

    def has(self, name: str) -> bool:
        return name in self.names(name)

    def names(self, prefix: str) -> list[str]:
        cut = len(self.prefix) + 1
        return [name[cut:] for name in self.store.names(f"{self.prefix}/{prefix}")]

    def delete(self, name: str) -> None:
        self.store.delete(f"{self.prefix}/{name}")

    def close(self) -> None:
        self.store.close()
