"""Generators as sources: copies, partitions, pauses, state and ends."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import pytest

from heronpy.connectors.mock.arraylooper import ArrayLooper
from heronpy.connectors.textfiles.textfilesgenerator import TextFileGenerator
from heronpy.streamlet.context import Context
from heronpy.streamlet.generator import Generator
from heronpy.streamlet.impl.generator_source import GeneratorReader, GeneratorSource
from heronpy.streamlet.impl.partitions import Partitions, keys_of_partitions
from heronpy.streamlet.impl.suppliers import Supplied


def opened(generator: Generator, partitions: int = 1, positions: Any = None) -> GeneratorReader:
    """A reader of all partitions."""
    source = GeneratorSource(generator, Partitions(partitions, 1, {}))
    reader = source.open()
    reader.assign(positions or dict.fromkeys(source.splits()))
    return reader


def taken(reader: GeneratorReader, count: int) -> list[Any]:
    """The next elements, one for each poll."""
    chunks = (reader.poll(1) for _ in itertools.count())
    return list(itertools.islice((e for chunk in chunks if chunk for e in chunk.records), count))


class Now(Generator):
    """What a list has now: a test puts elements and Nones into it."""

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements

    def __deepcopy__(self, memo: Any) -> Now:
        return Now(self.elements)

    def setup(self, context: Context) -> None:
        self.context = context

    def get(self) -> Any:
        if self.elements == ["end"]:
            raise StopIteration
        return self.elements.pop(0) if self.elements else None


def test_none_means_that_there_is_nothing_now() -> None:
    elements: list[Any] = [1, None, 2]
    reader = opened(Now(elements))
    chunk = reader.poll(10)
    assert chunk is not None
    assert (chunk.records, chunk.caught_up, chunk.ended) == ([1], True, False)
    elements.clear()
    assert reader.poll(10) is None


def test_stop_iteration_ends_the_partition() -> None:
    chunk = opened(Now(["end"])).poll(10)
    assert chunk is not None
    assert (chunk.records, chunk.ended) == ([], True)


def test_a_function_gives_whatever_it_returns() -> None:
    chunk = opened(Supplied(lambda: None)).poll(3)
    assert chunk is not None
    assert chunk.records[:1] == [None]
    assert len(chunk.records) <= 3


def test_an_array_looper_goes_round_in_each_partition() -> None:
    assert taken(opened(ArrayLooper("ab")), 5) == ["a", "b", "a", "b", "a"]
    assert taken(opened(ArrayLooper("ab"), 2), 6) == ["a", "a", "b", "b", "a", "a"]
    with pytest.raises(RuntimeError, match="3 cannot be looped over"):
        ArrayLooper(3)  # type: ignore[arg-type]


def test_a_pause_between_elements_blocks_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    reader = opened(ArrayLooper("ab", sleep=1))
    found = []
    for _ in range(9):
        chunk = reader.poll(10)
        found.append("".join(chunk.records) if chunk else "")
        now[0] += 0.25
    assert found == ["", "", "", "", "a", "", "", "", "b"]


def test_a_looper_that_is_asked_too_early_sleeps_as_apaches_does(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], list[float]()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", slept.append)
    looper = ArrayLooper("ab", sleep=2)
    looper.setup(None)  # type: ignore[arg-type]
    now[0] += 0.5
    assert looper.get() == "a"
    assert slept == [1.5]


@pytest.fixture
def files(tmp_path: Path) -> str:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"{number} one\n{number} two\n")
    return str(tmp_path / "*.txt")


def test_each_partition_has_the_lines_of_its_files(files: str) -> None:
    reader = opened(TextFileGenerator(files), 2)
    found: dict[str, list[Any]] = {"0": [], "1": []}
    for _ in range(20):
        if (chunk := reader.poll(1)) is not None:
            found[chunk.split] += chunk.records
    assert found == {"0": ["0 one\n", "0 two\n", "2 one\n", "2 two\n"], "1": ["1 one\n", "1 two\n"]}


def test_what_a_generator_keeps_in_its_state_is_its_position(files: str) -> None:
    """Every line is read once, however often the reader is opened anew."""
    positions: dict[str, Any] = {"0": None}
    found: list[Any] = []
    for _ in range(6):
        chunk = opened(TextFileGenerator(files), 1, positions).poll(1)
        assert chunk is not None
        found += chunk.records
        positions = {"0": chunk.position}
    assert found == [f"{number} {word}\n" for number in range(3) for word in ("one", "two")]
    assert opened(TextFileGenerator(files), 1, positions).poll(1) is None


@pytest.mark.parametrize("count", [1, 2, 3, 7, 256])
def test_the_key_of_each_partition_is_of_another_task(count: int) -> None:
    from heronpy.kernel.flow.keys import key_group
    from heronpy.kernel.plans.group_owners import contiguous

    owners = contiguous(range(count), 256)
    assert [owners[key_group(key, 256)] for key in keys_of_partitions(count, 256)] == list(range(count))


@pytest.mark.parametrize("method", ["setup", "get"])
def test_a_generator_without_its_methods_says_so(method: str) -> None:
    with pytest.raises(NotImplementedError, match=f"Generator must define {method}"):
        getattr(Generator(), method)(*([None] if method == "setup" else []))
