"""Checkpoints wherever fsspec reaches: object stores, HDFS and more, named by a URL."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import ObjectMissing, StoreError
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore, checked_object
from heronpy.plugins.url_folder import UrlFolder


class FsspecStore(CheckpointStore):
    """Objects below the URL `checkpoint.path`. Further options are the table [plugins.fsspec]."""

    @override
    def initialize(self, config: Config) -> None:
        self._folder = UrlFolder(config, "checkpoint.path", "checkpoint store", StoreError)

    @override
    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        self._folder.write(checked_object(name), chunks)

    @override
    def read(self, name: str) -> bytes:
        found = self._folder.read(checked_object(name))
        if found is None:
            msg = f"no object {name} in the checkpoint store {self._folder.url}"
            raise ObjectMissing(msg, hint="heronpy checkpoints")
        return found

    @override
    def names(self, prefix: str) -> list[str]:
        folder = prefix.rpartition("/")[0]
        try:
            top = checked_object(folder) if folder else ""
        except StoreError:
            return []  # no name begins with it
        return [name for name in self._folder.names(top) if name.startswith(prefix)]

    @override
    def delete(self, name: str) -> None:
        self._folder.delete(checked_object(name))
