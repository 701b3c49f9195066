"""The stores that come with heronpy keep the contract of checkpoint stores."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import fsspec  # type: ignore[import-untyped]
import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import CheckpointStore
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
