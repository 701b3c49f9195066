"""Items, printed and collected: what the contracts do not say."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pytest

from heronpy.connectors import Chunk
from heronpy.connectors.collected import CollectedSink
from heronpy.connectors.items import ItemSource
from heronpy.connectors.printed import PrintedSink
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError


def test_parts_of_items_are_equally_long_and_in_order() -> None:
    source = ItemSource("abcdefg", parts=3)
    reader = source.open()
    reader.assign(dict.fromkeys(source.splits()))
    chunks = [reader.poll(10) for _ in range(3)]
    assert [chunk and (chunk.split, *chunk.records) for chunk in chunks] == [
        ("0", "a", "b"),
        ("1", "c", "d"),
        ("2", "e", "f", "g"),
    ]


def test_items_are_those_of_the_moment() -> None:
    values = [1, 2]
    source = ItemSource(values)
    values.append(3)
    assert source.values == (1, 2)
    assert ItemSource(iter([1, 2])) == source


def test_a_chunk_may_be_made_with_the_type_of_its_records() -> None:
    chunk = Chunk[int]("0", [1, 2], position=2, ended=True)
    assert chunk == Chunk("0", [1, 2], position=2, ended=True)
    with pytest.raises(FrozenInstanceError):
        chunk.split = "1"  # type: ignore[misc]


def test_no_parts_are_refused() -> None:
    with pytest.raises(DefinitionError, match=r"cannot be read in 0 parts \(try: parts=1\)"):
        ItemSource([1], parts=0)


def test_values_are_printed_as_str_makes_them(capsys: pytest.CaptureFixture[str]) -> None:
    writer = PrintedSink().open("words-0")
    writer.write([("a", 1), "b", None])
    writer.flush()
    assert capsys.readouterr().out == "('a', 1)\nb\nNone\n"


def test_what_is_collected_does_not_travel() -> None:
    with pytest.raises(UserError, match=r"a list in this process.*\(try: run it with --runner local"):
        pickle.dumps(CollectedSink[int]())
