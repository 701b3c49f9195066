"""Several queries read one sink: nothing goes that one of them needs, and what nobody needs does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.ingesting import PREFIX
from support.tasks.sinking import Kind, Query, segments

from heronpy import CheckpointStore
from heronpy.kernel.errors import UserError
from heronpy.spark import forget_reader
from heronpy.spark.readers import READERS, Reader, places
from heronpy.spark.segments import Span
from heronpy.spark.shelf import Shelf

SINK = "wordcount/components/sink/segments"


@pytest.fixture
def kind(tmp_path: Path) -> Kind:
    made = segments(tmp_path)
    assert made.store is not None
    Shelf(made.store(), SINK).delete(f"{READERS}default")  # the readers are those of each test
    return made


def shelf_of(kind: Kind) -> Shelf:
    assert kind.store is not None
    return Shelf(kind.store(), SINK)


def write(kind: Kind, *words: str) -> None:
    """A task that commits a segment for each word, and is seen no more."""
    life = kind.life(waits=False)
    for word in words:
        life.write(word)
        life.transactions.roll()
    life.sink.close()


def test_what_one_has_read_stays_until_the_other_has(kind: Kind) -> None:
    shelf = shelf_of(kind)
    quick, slow = Query(shelf, "quick"), Query(shelf, "slow")
    write(kind, "a", "b")
    assert quick.read() == ["a", "b"]
    assert len(shelf.names("data/")) == 2
    assert slow.read() == ["a", "b"]
    assert shelf.names("data/") == []
    assert shelf.names("committed/") == []


def test_a_query_that_did_not_commit_reads_the_same_again(kind: Kind) -> None:
    shelf = shelf_of(kind)
    first = Query(shelf)
    write(kind, "a", "b")
    first.read()
    write(kind, "c")
    before = first.at
    assert first.read(commits=False) == ["a", "b", "c"]
    again = Query(shelf)
    again.at = before
    assert again.read() == ["c"]


def test_a_new_query_under_an_old_name_goes_on_where_that_was(kind: Kind) -> None:
    shelf = shelf_of(kind)
    Query(shelf, "other")
    query = Query(shelf)
    write(kind, "a")
    query.read()
    write(kind, "b")
    assert Query(shelf).read() == ["b"]
    assert Query(shelf, "other").read() == ["a", "b"]


def test_a_new_reader_begins_behind_what_the_others_may_be_deleting(kind: Kind) -> None:
    """They have said that they do not need it; whether it is gone already is a matter of chance."""
    shelf = shelf_of(kind)
    write(kind, "a", "b")
    (lane,) = {name.split("/")[1] for name in shelf.names("data/")}
    about_to_delete = Reader(shelf, "first")
    about_to_delete.enter(new=True)
    about_to_delete._write({lane: Span(0, 0)})
    assert Query(shelf, "second").read() == ["b"]


def test_the_newer_of_two_queries_of_one_name_has_the_place(kind: Kind) -> None:
    shelf = shelf_of(kind)
    first = Query(shelf)
    write(kind, "a")
    second = Query(shelf)
    assert second.read() == ["a"]
    with pytest.raises(UserError) as caught:
        first.reader.commit(first.at)
    assert str(caught.value) == (
        "another query reads as 'default' now, and this one stops"
        ' (try: set .option("reader", …) to a different name in each query)'
    )


def test_a_query_that_goes_on_must_find_its_place(kind: Kind) -> None:
    """If all was cleared since, offsets that it remembers mean nothing."""
    with pytest.raises(UserError) as caught:
        Reader(shelf_of(kind), "gone").enter(new=False)
    assert str(caught.value) == (
        "reader 'gone' is not registered: the segments were cleared, or it was forgotten"
        " (try: use a new checkpointLocation, to begin with the segments that are there)"
    )


def test_a_commit_may_be_repeated_and_come_from_before(kind: Kind) -> None:
    shelf = shelf_of(kind)
    query = Query(shelf)
    write(kind, "a", "b")
    query.read()
    end = query.at
    query.reader.commit(end)
    query.reader.commit(end)
    write(kind, "c")
    assert query.read() == ["a", "b", "c"]


def test_a_reader_that_is_forgotten_keeps_nothing(kind: Kind, tmp_path: Path) -> None:
    shelf = shelf_of(kind)
    stays, goes = Query(shelf, "stays"), Query(shelf, "goes")
    write(kind, "a")
    stays.read()
    assert len(shelf.names("data/")) == 1
    options = {"topology": "wordcount", "component": "sink", "path": str(tmp_path)}
    forget_reader("goes", **options)
    assert shelf.names("data/") == []
    assert list(places(shelf)) == ["stays"]
    with pytest.raises(UserError, match=r"is not read by 'goes', but by stays$"):
        forget_reader("goes", **options)
    assert goes.words == []


def test_what_a_life_has_prepared_in_vain_goes_with_its_successor_and_nothing_else(kind: Kind) -> None:
    shelf, life, other = shelf_of(kind), kind.life(2), kind.life(3)
    for each in (life, other):
        each.write("a")
        each.transactions.prepare(1)
    life.transactions.complete(1)
    life.write("b")
    life.transactions.prepare(2)
    assert len(shelf.names("data/")) == 3
    kind.life(2)
    assert len(shelf.names("data/")) == 2
    other.transactions.complete(1)
    assert Query(shelf).read() == ["a", "a"]
    for each in (*type(life).lives,):
        each.sink.close()


@given(st.lists(st.sampled_from(["write", "quick", "slow", "dies"]), max_size=25))
def test_whoever_reads_when_each_gets_every_word_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    made = segments(tmp_path_factory.mktemp("store"))
    shelf = shelf_of(made)
    shelf.delete(f"{READERS}default")
    queries = {name: Query(shelf, name) for name in ("quick", "slow")}
    written: list[str] = []
    life = made.life()
    for checkpoint, step in enumerate([*steps, "write"], 1):
        if step == "write":
            word = f"{len(written):03}"
            life.write(word)
            life.transactions.prepare(checkpoint)
            life.transactions.complete(checkpoint)
            written.append(word)
        elif step == "dies":
            life = made.life()
        else:
            queries[step].read()
    assert [query.read() for query in queries.values()] == [written, written]
    assert shelf.names("data/") == []
    for one in type(life).lives:
        one.sink.close()


def test_readers_that_come_and_go_while_somebody_writes_and_deletes_miss_nothing(
    store: Callable[[], CheckpointStore], kind: Kind
) -> None:
    """Threads that meet at random moments: what a new reader begins with is there when it reads it."""
    assert PREFIX != SINK
    shelf = shelf_of(kind)
    deleting = Query(shelf, "deleting")
    words = [f"{number:03}" for number in range(60)]
    over = threading.Event()

    def writes() -> None:
        write(kind, *words)
        over.set()

    thread = threading.Thread(target=writes)
    thread.start()
    came = 0
    while not over.is_set():
        deleting.read()
        newcomer = Query(shelf_of(kind), f"newcomer{came}")
        newcomer.read(commits=False)
        shelf.delete(f"{READERS}newcomer{came}")
        came += 1
    thread.join()
    assert deleting.read() == words
    assert came > 0
