"""What an SQLite sink writes into its table, and which tables it refuses."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from support.tasks.sinking import Kind, Life, rows, tuple_of

from heronpy import Grouping, Spout, SQLiteSink, Stream, Topology
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError
from heronpy.testing import TopologyTest


class Words(Spout):
    outputs = ("word", "count", Stream(fields=["word", "count"], name="late"))


class Both(Spout):
    outputs = ("word", Stream(fields=["number"], name="numbers"))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "words #1?.db"


def query(database: Path, sql: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        found = connection.execute(sql).fetchall()
        connection.commit()
    return found


def commit(life: Life, *written: tuple[Any, int]) -> None:
    for word, count in written:
        life.sink.process(tuple_of(word, count))
    life.transactions.prepare(1)
    life.transactions.complete(1)


def test_the_table_is_made_with_the_fields_and_gets_the_rows_in_order(database: Path) -> None:
    commit(rows(database).life(), ("a", 1), (None, 2), (b"c", 3), (1.5, 4))
    assert query(database, "SELECT * FROM words") == [("a", 1), (None, 2), (b"c", 3), (1.5, 4)]


def test_a_table_that_is_there_keeps_its_other_columns_and_its_types(database: Path) -> None:
    query(database, "CREATE TABLE words (id INTEGER PRIMARY KEY, Count TEXT, WORD, more DEFAULT 'x')")
    commit(rows(database).life(), ("a", 1))
    assert query(database, "SELECT * FROM words") == [(1, "1", "a", "x")]


def test_with_a_key_the_last_row_counts_and_a_repetition_changes_nothing(database: Path) -> None:
    kind = rows(database, **{SQLiteSink.KEY: ["word"]})
    life = kind.life(waits=False)
    commit(life, ("a", 1), ("b", 1), ("a", 2))
    commit(life, ("b", 1), ("a", 3))
    assert query(database, "SELECT * FROM words ORDER BY word") == [("a", 3), ("b", 1)]


def test_a_key_of_all_columns_makes_a_set(database: Path) -> None:
    kind = rows(database, **{SQLiteSink.KEY: ["word"], SQLiteSink.COLUMNS: ["word"]})
    commit(kind.life(), ("a", 1), ("a", 2))
    assert query(database, "SELECT * FROM words") == [("a",)]


def test_rows_are_as_the_subclass_wants_them(database: Path) -> None:
    class Lengths(SQLiteSink):
        def row(self, tup: Any) -> list[Any]:
            return [tup.word, len(tup.word)]

    commit(Life(Lengths, rows(database, **{SQLiteSink.COLUMNS: ["word", "length"]}).config), ("abc", 1))
    assert query(database, "SELECT word, length FROM words") == [("abc", 3)]


def test_in_a_topology_several_tasks_write_to_one_table(tmp_path: Path) -> None:
    class Writing(Topology):
        words = Words.spec()
        out = SQLiteSink.spec(
            inputs={words: Grouping.fields("word"), words["late"]: Grouping.fields("word")},
            par=3,
            database=tmp_path / "words.db",
            table="words",
            key=["word"],
        )

    with TopologyTest(Writing) as run:
        run.feed("words", [[f"w{number % 7}", number] for number in range(20)])
        run.feed("words", [["w0", 20]], stream="late")
        run.run()
    found = query(tmp_path / "words.db", "SELECT count FROM words ORDER BY count")
    assert [count for (count,) in found] == [13, 15, 16, 17, 18, 19, 20]


def test_only_the_newest_commit_of_a_task_is_noted(database: Path) -> None:
    life = rows(database).life()
    for checkpoint in range(1, 6):
        life.write(str(checkpoint))
        life.transactions.prepare(checkpoint)
        life.transactions.complete(checkpoint)
    assert query(database, "SELECT owner FROM heronpy_committed") == [("wordcount-x1-2",)]


def refused(kind: Kind, error: type[Exception] = TopologyError) -> str:
    with pytest.raises(error) as caught:
        kind.life()
    return str(caught.value)


def test_a_table_without_a_column_is_one_line(database: Path) -> None:
    query(database, "CREATE TABLE words (word, counts)")
    message = f"table 'words' in {database} has no column 'count'; did you mean 'counts'?"
    assert refused(rows(database)) == message


def test_a_table_that_does_not_know_the_key_is_one_line(database: Path) -> None:
    query(database, "CREATE TABLE words (word, count)")
    message = f"table 'words' in {database} has no primary key or unique index on (word)"
    assert refused(rows(database, **{SQLiteSink.KEY: ["word"]})) == message


def test_a_file_that_is_no_database_is_one_line(database: Path) -> None:
    database.write_text("not a database, however one looks at it")
    assert refused(rows(database)) == f"SQLite cannot write to {database}: file is not a database"


def test_a_row_that_the_table_refuses_is_one_line_and_nothing_of_it_is_there(database: Path) -> None:
    query(database, "CREATE TABLE words (word UNIQUE, count)")
    with pytest.raises(TopologyError, match=r"cannot write to .*: UNIQUE constraint failed: words.word$"):
        commit(rows(database).life(), ("a", 1), ("a", 2))
    assert query(database, "SELECT * FROM words") == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({SQLiteSink.TABLE: None}, "'sink' needs 'sqlitesink.table' in its config: the name of a table"),
        ({SQLiteSink.KEY: "word"}, "'sqlitesink.key' of 'sink' must be a list of names, got 'word'"),
        (
            {SQLiteSink.KEY: ["wort"]},
            "the key of 'sink' has 'wort', which is no column; did you mean 'word'?",
        ),
        ({SQLiteSink.COLUMNS: ["a", "a"]}, "'sqlitesink.columns' of 'sink' has a name twice: ['a', 'a']"),
        ({SQLiteSink.DATABASE: ""}, "'sink' needs 'sqlitesink.database' in its config: a path"),
    ],
)
def test_a_config_that_cannot_be_meant_is_refused(
    database: Path, config: dict[str, Any], message: str
) -> None:
    assert refused(rows(database, **config), DefinitionError) == message


def test_streams_with_different_fields_need_columns(tmp_path: Path) -> None:
    class Mixed(Topology):
        both = Both.spec()
        out = SQLiteSink.spec(inputs=[both, both["numbers"]], database=tmp_path / "words.db", table="words")

    with pytest.raises(DefinitionError) as caught, TopologyTest(Mixed) as run:
        run.run()
    assert str(caught.value) == (
        "'out' reads streams with different fields (number; word)"
        " (try: set 'sqlitesink.columns' in its config)"
    )
