"""The sources that come with heronpy keep the contracts of sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heronpy.connectors import Source
from heronpy.connectors.files.lines import LineSource
from heronpy.connectors.items import ItemSource
from heronpy.testing.contracts.source import BoundedSourceContract, MissingSourceContract, SourceContract


class TestItems(BoundedSourceContract):
    def make(self) -> Source[Any]:
        return ItemSource([f"item {number}" for number in range(31)], parts=3)


class TestARange(BoundedSourceContract):
    def make(self) -> Source[Any]:
        return ItemSource(range(100), parts=7)


class _OfFiles:
    """Contracts of sources that read files in a folder of the test."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.folder = tmp_path


class TestLines(_OfFiles, BoundedSourceContract, MissingSourceContract):
    @pytest.fixture(autouse=True)
    def written(self, place: None) -> None:
        (self.folder / "a.txt").write_text("".join(f"a line {number}\n" for number in range(20)))
        (self.folder / "b.txt").write_bytes("ä\r\n\r\nno end".encode())
        (self.folder / "c.txt").touch()

    def make(self) -> Source[Any]:
        return LineSource(self.folder / "*.txt")

    def make_missing(self) -> Source[Any]:
        return LineSource(self.folder / "none.txt")


class TestFollowedLines(_OfFiles, SourceContract):
    @pytest.fixture(autouse=True)
    def written(self, place: None) -> None:
        for name in ("a", "b"):
            lines = "".join(f"{name} line {number}\n" for number in range(40))
            (self.folder / name).write_text(lines + "half a li")

    def make(self) -> Source[Any]:
        return LineSource(self.folder, follow=True)
