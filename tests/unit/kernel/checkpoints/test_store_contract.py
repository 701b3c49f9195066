"""The stores that come with heronpy keep the contract of checkpoint stores."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import StoreError
from heronpy.kernel.plugin import CheckpointStore
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.plugins.checkpoints.fsspec import FsspecStore
from heronpy.plugins.checkpoints.localfs import LocalFsStore
from heronpy.testing.contracts.checkpoint_store import CheckpointStoreContract


class TestLocalFsStore(CheckpointStoreContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"

    def make(self) -> CheckpointStore:
        return LocalFsStore()

    def config(self) -> Config:
        return load_config(os.devnull, environ={}, flags={"home": str(self.home)})


class OfUrl(CheckpointStoreContract):
    url: str

    def make(self) -> CheckpointStore:
        return FsspecStore()

    def config(self) -> Config:
        return load_config(os.devnull, environ={}, flags={"checkpoint.path": self.url})


class TestFsspecStoreWithFiles(OfUrl):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.url = f"file://{tmp_path}/checkpoints"


class TestFsspecStoreInMemory(OfUrl):
    @pytest.fixture(autouse=True)
    def place(self) -> Iterator[None]:
        self.url = f"memory://{secrets.token_hex(4)}/checkpoints"
        yield
        fsspec.filesystem("memory").store.clear()


@pytest.mark.parametrize("where", ["localfs", "fsspec"])
def test_a_folder_that_cannot_be_read_is_not_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """For who is not listed is taken for gone, and what belongs to it is deleted."""
    path = str(tmp_path) if where == "localfs" else f"file://{tmp_path}"
    flags = {"checkpoint.store": where, "checkpoint.path": path}
    store = open_checkpoint_store(load_config(os.devnull, environ={}, flags=flags))
    store.write("words/data/one", [b"1"])
    scandir = os.scandir

    def exhausted(folder: str) -> Any:
        if str(folder).endswith("/data"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return scandir(folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", exhausted)
        with pytest.raises(StoreError, match="Too many open files"):
            store.names("words/")
    assert store.names("words/") == ["words/data/one"]
    assert store.names("words/nothing/") == []
    store.close()
