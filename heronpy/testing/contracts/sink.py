"""The sink contracts: subclass the one that applies in your tests and say how to make your sink."""

from __future__ import annotations

import abc
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from heronpy.connectors import Sink, Writer

#: opens a writer of the sink under test for an owner
Opens = Callable[[str], Writer[Any]]


class SinkContract(abc.ABC):
    """What runners rely on, wherever records go.

    ```python
    class TestMySink(SinkContract):
        def make(self) -> Sink[Any]:
            return MySink(self.server.url)

        def visible(self) -> Sequence[Any]:
            return self.server.rows()
    ```
    """

    @abc.abstractmethod
    def make(self) -> Sink[Any]:
        """A sink, empty at the beginning of a test: the same place for all of one test."""

    @abc.abstractmethod
    def visible(self) -> Sequence[Any]:
        """What readers of the place see, in an order that keeps that of each owner's records."""

    def record(self, number: int) -> Any:
        """The number-th record to write, as `visible` gives it back; no two are equal."""
        return f"record {number}"

    @pytest.fixture
    def sink(self) -> Sink[Any]:
        return self.make()

    @pytest.fixture
    def opens(self, sink: Sink[Any]) -> Iterator[Opens]:
        with contextlib.ExitStack() as opened:

            def open_one(owner: str) -> Writer[Any]:
                return opened.enter_context(contextlib.closing(sink.open(owner)))

            yield open_one

    @pytest.fixture
    def writer(self, opens: Opens) -> Writer[Any]:
        writer = opens("words-0")
        writer.recover([])
        return writer

    def records(self, *numbers: int) -> list[Any]:
        return [self.record(number) for number in numbers]

    def test_it_says_how_it_writes(self, sink: Sink[Any]) -> None:
        assert sink.mode in ("transactional", "idempotent", "at_least_once")
        assert sink.changes in ("append", "upsert")

    def test_it_passes_its_own_check(self, sink: Sink[Any]) -> None:
        sink.check()
        assert self.visible() == []

    def test_what_is_written_prepared_and_committed_is_visible_in_order(self, writer: Writer[Any]) -> None:
        writer.write(self.records(1, 2))
        writer.write([])
        writer.write(self.records(3))
        finish(writer, 1)
        assert list(self.visible()) == self.records(1, 2, 3)
        writer.write(self.records(4))
        finish(writer, 2)
        assert list(self.visible()) == self.records(1, 2, 3, 4)

    def test_nothing_written_is_nothing_to_commit(self, writer: Writer[Any]) -> None:
        assert writer.prepare(1) == b""
        writer.write([])
        assert writer.prepare(2) == b""
        assert self.visible() == []

    def test_two_owners_write_side_by_side(self, opens: Opens) -> None:
        one, two = opens("words-0"), opens("words-1")
        one.write(self.records(1))
        two.write(self.records(2))
        one.write(self.records(3))
        finish(two, 1)
        finish(one, 1)
        found = list(self.visible())
        assert sorted(found, key=repr) == sorted(self.records(1, 2, 3), key=repr)
        assert [record for record in found if record != self.record(2)] == self.records(1, 3)

    def test_closing_twice_leaves_no_thread(self, sink: Sink[Any]) -> None:
        before = threading.active_count()
        writer = sink.open("words-0")
        writer.write(self.records(1))
        writer.close()
        writer.close()
        assert threading.active_count() == before


class TransactionalSinkContract(SinkContract):
    """… and what makes each record visible exactly once."""

    def test_it_says_that_it_is_transactional(self, sink: Sink[Any]) -> None:
        assert sink.mode == "transactional"

    def test_nothing_is_visible_before_its_commit(self, writer: Writer[Any]) -> None:
        writer.write(self.records(1))
        writer.flush()
        assert self.visible() == []
        handle = writer.prepare(1)
        writer.write(self.records(2))
        assert self.visible() == []
        writer.commit(handle)
        assert list(self.visible()) == self.records(1)

    def test_a_second_commit_changes_nothing(self, writer: Writer[Any], opens: Opens) -> None:
        writer.write(self.records(1))
        handle = writer.prepare(1)
        for committer in (writer, writer, opens("words-0"), opens("words-1")):
            committer.commit(handle)
            assert list(self.visible()) == self.records(1)

    def test_transactions_are_committed_together_in_order(self, writer: Writer[Any]) -> None:
        """That of a checkpoint that was aborted comes with the next complete one."""
        writer.write(self.records(1))
        handles = [writer.prepare(1)]
        writer.write(self.records(2))
        handles.append(writer.prepare(1))
        assert len(set(handles)) == 2
        for handle in handles:
            writer.commit(handle)
        assert list(self.visible()) == self.records(1, 2)

    def test_the_successor_of_a_crashed_task_commits_what_the_checkpoint_has(self, opens: Opens) -> None:
        crashed = opens("words-0")
        crashed.write(self.records(1))
        saved = crashed.prepare(1)
        crashed.write(self.records(2))
        crashed.prepare(2)
        crashed.write(self.records(3))
        successor = opens("words-0")
        successor.recover([saved])
        assert list(self.visible()) == self.records(1)
        successor.write(self.records(2, 3))
        finish(successor, 2)
        assert list(self.visible()) == self.records(1, 2, 3)

    def test_a_crash_after_the_commit_repeats_nothing(self, opens: Opens) -> None:
        crashed = opens("words-0")
        crashed.write(self.records(1))
        saved = crashed.prepare(1)
        crashed.commit(saved)
        successor = opens("words-0")
        successor.recover([saved])
        assert list(self.visible()) == self.records(1)

    def test_another_task_commits_for_one_that_is_no_more(self, opens: Opens) -> None:
        gone = opens("words-1")
        gone.write(self.records(1))
        handle = gone.prepare(1)
        gone.close()
        opens("words-0").recover([handle])
        assert list(self.visible()) == self.records(1)

    def test_abort_discards_what_is_the_owners_and_nothing_else(self, opens: Opens) -> None:
        one, two, ten = opens("words-0"), opens("words-1"), opens("words-10")
        handles = []
        for number, writer in enumerate((one, two, ten)):
            writer.write(self.records(number))
            handles.append((writer, writer.prepare(1)))
        one.commit(handles[0][1])
        opens("words-1").abort()
        ten.commit(handles[2][1])
        assert sorted(self.visible(), key=repr) == sorted(self.records(0, 2), key=repr)

    def test_what_was_not_prepared_is_discarded_by_closing(self, sink: Sink[Any], opens: Opens) -> None:
        writer = sink.open("words-0")
        writer.write(self.records(1))
        writer.close()
        successor = opens("words-0")
        successor.recover([])
        finish(successor, 1)
        assert self.visible() == []


def finish(writer: Writer[Any], checkpoint: int) -> None:
    """As a checkpoint does that completes at once."""
    handle = writer.prepare(checkpoint)
    if handle:
        writer.commit(handle)
