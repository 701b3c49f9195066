"""Cases whose results are in sinks of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from heronpy.pipeline import sinks, sources
from heronpy.testing.runner_suite.case import CaseBook, CaseSteps, SuiteRun

book = CaseBook()

FILES, TWICE, DATABASE = "files", "twice", "rows.db"
COUNTS = [("or", 302), ("not", 303), ("to be", 305)]


def _lines(run: SuiteRun) -> Iterator[int]:
    for file in (run.folder / FILES).glob("*.txt"):
        yield from map(int, file.read_text().split())


@book.case(range(2000), look=_lines)
def files_have_each_record_once(t: CaseSteps) -> None:
    t.read(range(2000), parts=3).write(sinks.files(t.folder / FILES), name=t.name("files"))


def _twice(run: SuiteRun) -> Iterator[str]:
    for file in (run.folder / TWICE).glob("*.txt"):
        yield from file.read_text().split()


@book.case(["a", "a", "b", "b"], look=_twice)
def a_stream_that_is_merged_with_itself_is_written_twice(t: CaseSteps) -> None:
    letters = t.read("ab")
    letters.merge(letters, name=t.name("merge")).write(sinks.files(t.folder / TWICE), name=t.name("files"))


def _rows(run: SuiteRun) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(run.folder / DATABASE)) as connection:
        return connection.execute("SELECT word, count FROM counts").fetchall()


@book.case(COUNTS, look=_rows)
def tables_have_a_row_for_each_key(t: CaseSteps) -> None:
    words = t.read([word for word, count in COUNTS for _ in range(count)], parts=2)
    counts = words.key_by(lambda word: word).count(name=t.name("count"))
    table = sinks.sqlite(t.folder / DATABASE, "counts", columns=["word", "count"], key=["word"])
    counts.write(table, name=t.name("table"))


@book.case(["naïve", "None", "2.5", "('a', 1)"], look=lambda run: run.stdout.splitlines())
def printed_values_and_nothing_else_are_on_standard_output(t: CaseSteps) -> None:
    values: list[Any] = ["naïve", None, 2.5, ("a", 1)]
    t.read(values).write(sinks.printed(), name=t.name("printed"))


@book.case(None, needs="sinks.collected")
def collected_records_are_in_this_process(t: CaseSteps) -> None:
    t.read([1]).write(sinks.collected(), name=t.name("collected"))


@book.case(None, needs="sources that never end")
def a_source_that_never_ends(t: CaseSteps) -> None:
    t.p.read(sources.rate(10), name=t.name("read")).write(sinks.printed(), name=t.name("printed"))
