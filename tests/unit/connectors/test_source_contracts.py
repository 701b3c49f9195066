"""The sources that come with heronpy keep the contracts of sources."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heronpy.connectors import Source
from heronpy.connectors.files.csv_rows import CsvSource
from heronpy.connectors.files.json_lines import JsonLineSource
from heronpy.connectors.files.lines import LineSource
from heronpy.connectors.files.parquet import ParquetSource
from heronpy.connectors.items import ItemSource
from heronpy.connectors.rate import RateSource
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


class TestJsonLines(_OfFiles, BoundedSourceContract, MissingSourceContract):
    @pytest.fixture(autouse=True)
    def written(self, place: None) -> None:
        values = [{"number": number, "words": ["ü"] * number} for number in range(20)]
        (self.folder / "a.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values))
        (self.folder / "b.jsonl").write_text('1\n\n"no end"')

    def make(self) -> Source[Any]:
        return JsonLineSource(self.folder)

    def make_missing(self) -> Source[Any]:
        return JsonLineSource(self.folder / "*.json")


class TestCsv(_OfFiles, BoundedSourceContract, MissingSourceContract):
    @pytest.fixture(autouse=True)
    def written(self, place: None) -> None:
        with (self.folder / "a.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["word", "note"], *(([f"w{n}", "two\nlines"]) for n in range(20))])
        (self.folder / "b.csv").write_text("\nnote,word\n\n1,ü\n2,no end")
        (self.folder / "c.csv").touch()

    def make(self) -> Source[Any]:
        return CsvSource(self.folder)

    def make_missing(self) -> Source[Any]:
        return CsvSource(self.folder / "none.csv")


class TestParquet(_OfFiles, BoundedSourceContract, MissingSourceContract):
    @pytest.fixture(autouse=True)
    def written(self, place: None) -> None:
        for name, rows in (("a", 20), ("b", 7), ("c", 0)):
            table = pa.table({"number": list(range(rows)), "word": [f"w{number}" for number in range(rows)]})
            pq.write_table(table, self.folder / f"{name}.parquet", row_group_size=6)

    def make(self) -> Source[Any]:
        return ParquetSource(self.folder)

    def make_missing(self) -> Source[Any]:
        return ParquetSource(self.folder / "none.parquet")


class TestRate(SourceContract):
    def make(self) -> Source[Any]:
        return RateSource(1e6, parts=2)


class TestRateWithAnEnd(BoundedSourceContract):
    def make(self) -> Source[Any]:
        return RateSource(1e6, total=31, parts=3)
