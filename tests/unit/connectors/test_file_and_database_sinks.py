"""Files and SQLite as sinks: what lines and rows look like, and what is refused."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from heronpy.connectors.files.folder import FolderSink
from heronpy.connectors.sink import Sink
from heronpy.connectors.sqlite.database import DatabaseSink
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError
from heronpy.testing.contracts.sink import finish


class Named(NamedTuple):
    word: str
    total: int


@dataclass
class Classy:
    word: str
    total: int


class Structured(msgspec.Struct):
    word: str
    total: int


def write(sink: Sink[Any], *records: object) -> None:
    with closing(sink.open("words-0")) as writer:
        writer.recover([])
        writer.write(records)
        finish(writer, 7)


def rows(database: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT word, total FROM words ORDER BY rowid").fetchall()


def test_a_record_is_one_line_of_text_whatever_is_in_it(tmp_path: Path) -> None:
    write(FolderSink(tmp_path), "a b", ("a\tb", 1), 2.5, "two\nlines", None)
    (path,) = tmp_path.glob("*.txt")
    assert path.name.startswith("words-0-000007-")
    assert path.read_text() == "a b\na\\tb\t1\n2.5\ntwo\\nlines\nNone\n"


def test_a_record_is_one_line_of_json(tmp_path: Path) -> None:
    write(FolderSink(tmp_path, format="json", suffix=".json"), {"a": 1}, Named("b", 2), Classy("ü", 3))
    (path,) = tmp_path.glob("*.json")
    assert path.read_text() == '{"a":1}\n["b",2]\n{"word":"ü","total":3}\n'


def test_a_record_that_json_cannot_have_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be written as JSON: .*object.*\(try: map it to a dict"):
        write(FolderSink(tmp_path, format="json"), object())


def test_a_format_that_is_not_known_is_refused_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"in the format 'jsn'; did you mean 'json'?"):
        FolderSink(tmp_path, format="jsn")  # type: ignore[arg-type]


def test_a_folder_that_is_a_file_is_refused_at_submit(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UserError, match=r"/out is not a folder \(try: name a folder"):
        FolderSink(tmp_path / "out").check()


def test_columns_are_those_of_the_first_record(tmp_path: Path) -> None:
    for number, record in enumerate([{"word": "a", "total": 1}, Named("a", 1), Classy("a", 1)]):
        database = tmp_path / f"{number}.db"
        write(
            DatabaseSink(database, "words"), record, Structured("b", 2), {"total": 3, "word": "c"}, ("d", 4)
        )
        assert rows(database) == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


def test_with_a_key_a_row_replaces_the_one_before(tmp_path: Path) -> None:
    sink = DatabaseSink(tmp_path / "out.db", "words", key=["word"])
    assert (sink.changes, DatabaseSink("out.db", "words").changes) == ("upsert", "append")
    write(sink, Named("a", 1), Named("b", 1), Named("a", 2))
    write(sink, Named("b", 3))
    assert sorted(rows(tmp_path / "out.db")) == [("a", 2), ("b", 3)]


@pytest.mark.parametrize(
    ("columns", "record", "message"),
    [
        ([], ("a", 1), r"columns are not known: a record is a tuple, .*\(try: columns=\["),
        (["word", "total"], ("a",), r"does not have the columns word, total: it has 1 values \(try: "),
        (["word", "total"], {"word": "a"}, r"does not have the columns word, total: 'total' \(try: "),
        (
            ["word", "total"],
            "a",
            r"does not have the columns word, total: 'str' object has no attribute 'word'",
        ),
        (["word", "total"], ("a", []), r"SQLite cannot write to /.*out.db: .*type 'list' is not supported"),
    ],
)
def test_a_record_that_is_no_row_is_one_line(
    tmp_path: Path, columns: list[str], record: Any, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        write(DatabaseSink(tmp_path / "out.db", "words", columns=columns), record)


def test_what_cannot_be_a_database_or_its_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all")
    (tmp_path / "empty").touch()
    DatabaseSink(tmp_path / "empty", "words").check()
    with pytest.raises(UserError, match=r"/text is no SQLite database \(try: "):
        DatabaseSink(tmp_path / "text", "words").check()
    with pytest.raises(UserError, match=r"cannot be opened: Is a directory \(try: "):
        DatabaseSink(tmp_path, "words").check()
    with pytest.raises(DefinitionError, match="columns must be a list of different names, got 'word'"):
        DatabaseSink("out.db", "words", columns="word")
    with pytest.raises(
        DefinitionError, match="the key of 'words' has 'wrd', which is no column; did you mean"
    ):
        DatabaseSink("out.db", "words", columns=["word"], key=["wrd"])


def test_both_are_plain_data(tmp_path: Path) -> None:
    for sink in (FolderSink(tmp_path), DatabaseSink(tmp_path / "out.db", "words", key=["word"])):
        copy = pickle.loads(pickle.dumps(sink))
        assert (copy, copy.changes) == (sink, sink.changes)
