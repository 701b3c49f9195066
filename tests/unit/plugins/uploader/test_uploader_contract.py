"""The uploaders that come with heronpy keep the contract of uploaders."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import fsspec  # type: ignore[import-untyped]
import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import Uploader
from heronpy.plugins.uploader.fsspec import FsspecUploader
from heronpy.plugins.uploader.localfs import LocalFsUploader
from heronpy.testing.contracts.uploader import UploaderContract


class TestLocalFsUploader(UploaderContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.home = tmp_path / "a home with spaces"

    def make(self) -> Uploader:
        return LocalFsUploader()

    def config(self) -> Config:
        return load_config(os.devnull, environ={}, flags={"home": str(self.home)})


class OfUrl(UploaderContract):
    url: str

    def make(self) -> Uploader:
        return FsspecUploader()

    def config(self) -> Config:
        return load_config(os.devnull, environ={}, flags={"upload.path": self.url})


class TestFsspecUploaderWithFiles(OfUrl):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.url = f"file://{tmp_path}/uploads"


class TestFsspecUploaderInMemory(OfUrl):
    @pytest.fixture(autouse=True)
    def place(self) -> Iterator[None]:
        self.url = f"memory://{secrets.token_hex(4)}/uploads/"
        yield
        fsspec.filesystem("memory").store.clear()
