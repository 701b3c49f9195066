"""The source contracts: subclass those that apply in your tests and say how to make your source."""

from __future__ import annotations

import abc
import contextlib
import json
import pickle
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from heronpy.connectors import Chunk, Reader, Source
from heronpy.kernel.errors import UserError

#: records of each split that are looked at where a split does not end
ENOUGH = 15
#: seconds in which they must have come; a poll takes far less
SOON = 5.0


class SourceContract(abc.ABC):
    """What runners rely on, wherever records come from.

    ```python
    class TestMySource(SourceContract):
        def make(self) -> Source[Any]:
            return MySource(self.server.url)
    ```
    """

    @abc.abstractmethod
    def make(self) -> Source[Any]:
        """A source, with several splits if it can have them, and 15 records or more in all.

        Unless it is bounded, each split has 40 records or soon will.
        """

    @pytest.fixture
    def source(self) -> Source[Any]:
        return self.make()

    @pytest.fixture
    def reader(self, source: Source[Any]) -> Iterator[Reader[Any]]:
        with contextlib.closing(source.open()) as reader:
            yield reader

    @pytest.fixture
    def wanted(self, source: Source[Any]) -> dict[str, list[Any]]:
        """The records of each split, from its beginning."""
        with contextlib.closing(source.open()) as reader:
            found = by_split(source, read(source, reader, beginning(source), 10))
        count = sum(map(len, found.values()))
        assert count >= ENOUGH, f"make() gives a source with {count} records: it takes {ENOUGH} to test it"
        return found

    def test_it_is_plain_data_and_equal_to_its_copy(self, source: Source[Any]) -> None:
        copy = pickle.loads(pickle.dumps(source))
        assert copy == source == self.make()
        assert (copy.bounded, list(copy.splits())) == (source.bounded, list(source.splits()))

    def test_it_passes_its_own_check(self, source: Source[Any]) -> None:
        source.check()

    def test_splits_have_unique_names_and_keep_their_order(self, source: Source[Any]) -> None:
        splits = list(source.splits())
        assert splits
        assert all(type(split) is str and split for split in splits)
        assert len(set(splits)) == len(splits)
        assert list(self.make().splits()) == splits

    def test_a_reader_reads_nothing_until_it_is_assigned(self, reader: Reader[Any]) -> None:
        assert reader.poll(10) is None

    @pytest.mark.parametrize("most", [1, 2, 7])
    def test_a_chunk_has_at_most_as_many_records_as_were_asked_for(
        self, source: Source[Any], reader: Reader[Any], most: int
    ) -> None:
        for chunk in read(source, reader, beginning(source), most):
            assert len(chunk.records) <= most
            assert chunk.times is None or len(chunk.times) == len(chunk.records)

    @pytest.mark.parametrize("most", [1, 3, 1000])
    def test_the_size_of_chunks_does_not_change_the_records(
        self, source: Source[Any], reader: Reader[Any], wanted: dict[str, list[Any]], most: int
    ) -> None:
        assert by_split(source, read(source, reader, beginning(source), most)) == wanted

    def test_it_gives_the_same_records_from_any_position_on(
        self, source: Source[Any], reader: Reader[Any], wanted: dict[str, list[Any]]
    ) -> None:
        seen = dict.fromkeys(wanted, 0)
        for chunk in read(source, reader, beginning(source), 2):
            seen[chunk.split] += len(chunk.records)
            rest = wanted[chunk.split][seen[chunk.split] :]
            with contextlib.closing(source.open()) as other:
                found = by_split(source, read(source, other, {chunk.split: chunk.position}, 3))
            assert found[chunk.split][: len(rest)] == rest

    def test_positions_survive_json_and_pickle(self, source: Source[Any], reader: Reader[Any]) -> None:
        for chunk in read(source, reader, beginning(source), 3):
            assert chunk.position is not None
            assert json.loads(json.dumps(chunk.position)) == chunk.position
            assert pickle.loads(pickle.dumps(chunk.position)) == chunk.position

    def test_a_change_of_plan_neither_repeats_nor_loses_records(
        self, source: Source[Any], wanted: dict[str, list[Any]]
    ) -> None:
        """Two readers share the splits, one takes all of them over, then they share again."""
        splits = list(source.splits())
        positions = beginning(source)
        taken: list[Chunk[Any]] = []
        with contextlib.closing(source.open()) as one, contextlib.closing(source.open()) as two:
            for shares in ((splits[::2], splits[1::2]), (splits, []), (splits[1:], splits[:1])):
                for reader, share in zip((one, two), shares, strict=True):
                    reader.assign({split: positions[split] for split in share})
                for reader in (one, two, one, two):
                    chunk = reader.poll(2)
                    if chunk is not None:
                        taken.append(chunk)
                        positions[chunk.split] = chunk.position
            two.assign({})
            taken += read(source, one, positions, 5)
        assert by_split(source, taken) == wanted

    def test_a_split_that_was_given_away_is_not_read_on(
        self, source: Source[Any], reader: Reader[Any]
    ) -> None:
        first, *others = source.splits()
        reader.assign(beginning(source))
        reader.poll(1)
        found = read(source, reader, dict.fromkeys(others), 3)
        assert {chunk.split for chunk in found} == set(others)
        reader.assign({})
        assert reader.poll(10) is None
        assert first not in reader.lag()

    def test_poll_never_blocks(self, source: Source[Any], reader: Reader[Any]) -> None:
        """Whether there is something or not: far below the time in which anything could be waited for."""
        reader.assign(beginning(source))
        slowest = 0.0
        for _ in range(100):
            began = time.monotonic()
            reader.poll(1)
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < SOON / 2

    def test_a_complete_checkpoint_changes_nothing_of_what_is_read(
        self, source: Source[Any], reader: Reader[Any], wanted: dict[str, list[Any]]
    ) -> None:
        reader.assign(beginning(source))
        chunk = next(poll(reader, 2))
        reader.committed({chunk.split: chunk.position})
        positions = {**beginning(source), chunk.split: chunk.position}
        assert by_split(source, [chunk, *read(source, reader, positions, 4)]) == wanted

    def test_lag_is_told_of_assigned_splits_only(self, source: Source[Any], reader: Reader[Any]) -> None:
        _, *others = source.splits()
        reader.assign(dict.fromkeys(others))
        reader.poll(1)
        lag = reader.lag()
        assert set(lag) <= set(others)
        assert all(type(behind) is int and behind >= 0 for behind in lag.values())

    def test_only_assigned_splits_that_gave_nothing_are_silent(
        self, source: Source[Any], reader: Reader[Any]
    ) -> None:
        _, *others = source.splits()
        reader.assign(dict.fromkeys(others))
        for _ in range(20):
            chunk = reader.poll(1)
            gave: set[str] = set() if chunk is None else {chunk.split}
            assert set(reader.silent()) <= set(others) - gave

    def test_closing_twice_leaves_no_thread(self, source: Source[Any]) -> None:
        before = threading.active_count()
        reader = source.open()
        reader.assign(beginning(source))
        reader.poll(1)
        reader.close()
        reader.close()
        assert threading.active_count() == before


class BoundedSourceContract(SourceContract):
    """… and what they rely on where the input ends."""

    def test_it_says_that_it_is_bounded(self, source: Source[Any]) -> None:
        assert source.bounded

    def test_every_split_ends_once_and_gives_nothing_more(
        self, source: Source[Any], reader: Reader[Any]
    ) -> None:
        ended: list[str] = []
        for chunk in read(source, reader, beginning(source), 4):
            assert chunk.split not in ended
            assert chunk.caught_up or not chunk.ended
            ended += [chunk.split] if chunk.ended else []
        assert sorted(ended) == sorted(source.splits())
        assert reader.poll(10) is None

    def test_a_split_that_is_taken_over_at_its_end_ends_again(
        self, source: Source[Any], reader: Reader[Any]
    ) -> None:
        read_before = read(source, reader, beginning(source), 4)
        ends = {chunk.split: chunk.position for chunk in read_before if chunk.ended}
        with contextlib.closing(source.open()) as other:
            again = read(source, other, ends, 4)
        assert {chunk.split: chunk.position for chunk in again} == ends
        assert by_split(source, again) == {split: [] for split in ends}


class MissingSourceContract(abc.ABC):
    """What a source says whose system or data is not there."""

    @abc.abstractmethod
    def make_missing(self) -> Source[Any]:
        """A source of what does not exist or cannot be reached. Making it raises nothing."""

    def test_check_says_in_one_line_what_to_do(self) -> None:
        missing = self.make_missing()
        with pytest.raises(UserError, match=r"\(try: .+\)$") as refused:
            missing.check()
        assert "\n" not in str(refused.value)


def beginning(source: Source[Any]) -> dict[str, Any]:
    return dict.fromkeys(source.splits())


def read(
    source: Source[Any], reader: Reader[Any], positions: Mapping[str, Any], most: int
) -> list[Chunk[Any]]:
    """Assign, and poll until each split has ended or, if the source is unbounded, has given enough."""
    enough = sys.maxsize if source.bounded else ENOUGH
    reader.assign(positions)
    missing = dict.fromkeys(positions, enough)
    found: list[Chunk[Any]] = []
    for chunk in poll(reader, most) if missing else ():
        found.append(chunk)
        if chunk.split in missing:
            missing[chunk.split] -= len(chunk.records)
            if chunk.ended or missing[chunk.split] <= 0:
                del missing[chunk.split]
        if not missing:
            break
    return found


def poll(reader: Reader[Any], most: int) -> Iterator[Chunk[Any]]:
    """Chunks as they come; AssertionError if none comes in time."""
    deadline = time.monotonic() + SOON
    while True:
        chunk = reader.poll(most)
        if chunk is not None:
            yield chunk
            deadline = time.monotonic() + SOON
        else:
            assert time.monotonic() < deadline, "a split has neither ended nor given its records in time"
            time.sleep(0.001)


def by_split(source: Source[Any], chunks: Iterable[Chunk[Any]]) -> dict[str, list[Any]]:
    """The records of each split in order; where splits do not end, as many as are looked at."""
    found: dict[str, list[Any]] = {}
    for chunk in chunks:
        found.setdefault(chunk.split, []).extend(chunk.records)
    return found if source.bounded else {split: records[:ENOUGH] for split, records in found.items()}
