"""The sinks that come with heronpy keep the contracts of sinks."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from heronpy.connectors import Sink
from heronpy.connectors.collected import CollectedSink
from heronpy.connectors.files.folder import FolderSink
from heronpy.connectors.printed import PrintedSink
from heronpy.connectors.sqlite.database import DatabaseSink
from heronpy.testing.contracts.sink import SinkContract, TransactionalSinkContract


class TestCollected(TransactionalSinkContract):
    @pytest.fixture(autouse=True)
    def place(self) -> None:
        self.sink_of_the_test = CollectedSink[Any]()

    def make(self) -> Sink[Any]:
        return self.sink_of_the_test

    def visible(self) -> Sequence[Any]:
        return self.sink_of_the_test.records


class TestPrinted(SinkContract):
    @pytest.fixture(autouse=True)
    def place(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.output, self.capture = "", capfd

    def make(self) -> Sink[Any]:
        return PrintedSink()

    def visible(self) -> Sequence[Any]:
        self.output += self.capture.readouterr().out
        return self.output.splitlines()


class _InAFolder:
    """Contracts of sinks that write into a folder of the test."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "out"


class TestFiles(_InAFolder, TransactionalSinkContract):
    def make(self) -> Sink[Any]:
        return FolderSink(self.folder)

    def visible(self) -> Sequence[Any]:
        files = [path for path in self.folder.glob("*.txt") if path.is_file()]
        return [line for path in in_order(files) for line in path.read_text().splitlines()]


class TestJsonFiles(_InAFolder, TransactionalSinkContract):
    def make(self) -> Sink[Any]:
        return FolderSink(self.folder, format="json")

    def visible(self) -> Sequence[Any]:
        files = [path for path in self.folder.glob("*.jsonl") if path.is_file()]
        return [json.loads(line) for path in in_order(files) for line in path.read_text().splitlines()]

    def record(self, number: int) -> Any:
        return {"number": number, "word": "a\nb"}


class TestSQLite(_InAFolder, TransactionalSinkContract):
    columns: Sequence[str] = ("number", "word")
    key: Sequence[str] = ()

    def make(self) -> Sink[Any]:
        self.folder.mkdir(exist_ok=True)
        return DatabaseSink(self.folder / "out.db", "words", columns=self.columns, key=self.key)

    def visible(self) -> Sequence[Any]:
        if not (self.folder / "out.db").exists():
            return []
        with closing(sqlite3.connect(self.folder / "out.db")) as database:
            there = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchall()
            return database.execute("SELECT * FROM words ORDER BY rowid").fetchall() if there else []

    def record(self, number: int) -> Any:
        return number, f"word {number}"


class TestSQLiteWithAKey(TestSQLite):
    key = ("number",)


def in_order(files: list[Path]) -> list[Path]:
    """As they were committed: names have checkpoints, which may repeat."""
    return sorted(files, key=lambda path: os.stat(path).st_ctime_ns)
