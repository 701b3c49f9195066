"""The checkpoint store contract: subclass it in your tests and say how to make your store."""

from __future__ import annotations

import abc
import random
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heronpy.kernel.config import Config
from heronpy.kernel.errors import ObjectMissing, StoreError
from heronpy.kernel.plugin import CheckpointStore

MEBIBYTE = 1024 * 1024

#: names that no store may take
_TRAPS = ["", ".", "..", "../x", "/x", "/etc/x", "a/../x", "a//b", "a/", "a/./b", ".x", "a/.x", "-x", "a b"]
_TRAPS += ["a\0b", "a\n", "é", "~", "a\\b", "a:b", "x" * 129]

#: one store for all examples, which each begin with an empty one; and several subclasses
_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]

names = st.lists(st.sampled_from(["a", "b", "ab", "1", "12", "a.b", "a-b"]), min_size=2, max_size=2)


class CheckpointStoreContract(abc.ABC):
    """What the engine relies on, wherever the bytes are.

    ```python
    class TestMyStore(CheckpointStoreContract):
        def make(self) -> CheckpointStore:
            return MyStore()

        def config(self) -> Config:
            return load_config("/dev/null", environ={}, flags={"checkpoint.path": self.place})
    ```
    """

    @abc.abstractmethod
    def make(self) -> CheckpointStore:
        """A fresh store, not yet initialized."""

    @abc.abstractmethod
    def config(self) -> Config:
        """The settings to initialize with: the same for all of one test, an empty place for each test."""

    @pytest.fixture
    def another(self) -> Iterator[Callable[[], CheckpointStore]]:
        """Opens one more client of the same place, as another process would."""
        opened: list[CheckpointStore] = []

        def open_one() -> CheckpointStore:
            store = self.make()
            store.initialize(self.config())
            opened.append(store)
            return store

        yield open_one
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, another: Callable[[], CheckpointStore]) -> CheckpointStore:
        return another()

    def test_it_can_be_closed_right_after_initialize(self) -> None:
        store = self.make()
        store.initialize(self.config())
        store.close()

    def test_what_is_written_is_read_by_others(
        self, store: CheckpointStore, another: Callable[[], CheckpointStore]
    ) -> None:
        store.write("words/e1/1/3-1", [b"some", b"", b" bytes\x00\xff"])
        assert store.read("words/e1/1/3-1") == b"some bytes\x00\xff"
        assert another().read("words/e1/1/3-1") == b"some bytes\x00\xff"

    def test_an_object_may_be_empty(self, store: CheckpointStore) -> None:
        store.write("words/empty", [])
        assert store.read("words/empty") == b""
        assert store.names("words/") == ["words/empty"]

    def test_a_missing_object_is_named(self, store: CheckpointStore) -> None:
        store.write("words/e1/1/3-1", [b"x"])
        for name in ("words/e1/2/3-1", "words/e1/1", "words/e1/1/3-1/more", "other"):
            with pytest.raises(ObjectMissing, match=name):
                store.read(name)

    def test_an_object_written_again_is_the_new_one(self, store: CheckpointStore) -> None:
        store.write("words/ref", [b"a long first version"])
        store.write("words/ref", [b"second"])
        assert store.read("words/ref") == b"second"

    def test_chunks_that_fail_leave_nothing(
        self, store: CheckpointStore, another: Callable[[], CheckpointStore]
    ) -> None:
        def failing() -> Iterator[bytes]:
            yield b"x" * MEBIBYTE
            msg = "this key cannot be encoded"
            raise LookupError(msg)

        with pytest.raises(LookupError, match="this key cannot be encoded"):
            store.write("words/e1/1/3-1", failing())
        for each in (store, another()):
            assert each.names("") == []
            with pytest.raises(ObjectMissing):
                each.read("words/e1/1/3-1")

    def test_chunks_that_fail_leave_what_was_there(self, store: CheckpointStore) -> None:
        def failing() -> Iterator[bytes]:
            yield b"new"
            raise LookupError

        store.write("words/ref", [b"old"])
        with pytest.raises(LookupError):
            store.write("words/ref", failing())
        assert store.read("words/ref") == b"old"

    def test_nobody_sees_an_object_before_it_is_complete(
        self, store: CheckpointStore, another: Callable[[], CheckpointStore]
    ) -> None:
        reader = another()

        def looking() -> Iterator[bytes]:
            yield b"first half, "
            assert reader.names("") == []
            with pytest.raises(ObjectMissing):
                reader.read("words/e1/1/3-1")
            yield b"second half"

        store.write("words/e1/1/3-1", looking())
        assert reader.read("words/e1/1/3-1") == b"first half, second half"

    def test_names_are_those_that_begin_with_the_prefix(self, store: CheckpointStore) -> None:
        written = ["words/e1/1/a", "words/e1/12/a", "words/e2/1/a", "words2/e1/1/a", "wor"]
        for name in written:
            store.write(name, [name.encode()])
        assert store.names("") == sorted(written)
        assert store.names("wor") == sorted(written)
        assert store.names("words/") == ["words/e1/1/a", "words/e1/12/a", "words/e2/1/a"]
        assert store.names("words/e1/1") == ["words/e1/1/a", "words/e1/12/a"]
        assert store.names("words/e1/1/") == ["words/e1/1/a"]
        for nothing in ("x", "words/e3/", "words/e1/1/a/", "/", "../", "words//e1", "."):
            assert store.names(nothing) == []

    def test_others_see_at_once_what_is_written_and_deleted(
        self, store: CheckpointStore, another: Callable[[], CheckpointStore]
    ) -> None:
        other = another()
        assert other.names("words/") == []
        store.write("words/e1/1/a", [b"x"])
        assert other.names("words/") == ["words/e1/1/a"]
        store.delete("words/e1/1/a")
        assert other.names("words/") == []

    def test_deleting_may_be_repeated_and_touches_nothing_else(self, store: CheckpointStore) -> None:
        store.write("words/e1/1/a", [b"1"])
        store.write("words/e1/1/b", [b"2"])
        for name in ("words/e1/1/a", "words/e1/1/a", "words/e1/1", "words/e1/1/b/c", "never"):
            store.delete(name)
        assert store.names("") == ["words/e1/1/b"]
        store.write("words/e1/1/a", [b"again"])
        assert store.read("words/e1/1/a") == b"again"

    @pytest.mark.parametrize("name", _TRAPS)
    def test_odd_names_are_refused(self, store: CheckpointStore, name: str) -> None:
        acts: list[Callable[[], object]] = [
            lambda: store.write(name, [b"x"]),
            lambda: store.read(name),
            lambda: store.delete(name),
        ]
        for act in acts:
            with pytest.raises(StoreError, match="cannot be the name of an object") as refused:
                act()
            assert not isinstance(refused.value, ObjectMissing)
        assert store.names("") == []

    def test_objects_may_be_large(self, store: CheckpointStore) -> None:
        chunk = random.Random(7).randbytes(MEBIBYTE)
        store.write("words/large", (chunk for _ in range(64)))
        data = store.read("words/large")
        assert len(data) == 64 * MEBIBYTE
        assert data == chunk * 64

    def test_many_write_side_by_side(self, another: Callable[[], CheckpointStore]) -> None:
        writers = 4

        def write(store: CheckpointStore, number: int) -> None:
            for turn in range(10):
                store.write(f"words/e1/{turn}/{number}-1", [bytes([number]), bytes([turn]) * 1000])
                if turn % 2:
                    store.delete(f"words/e1/{turn}/{number}-1")

        threads = [threading.Thread(target=write, args=(another(), number)) for number in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store = another()
        expected = [(turn, number) for turn in range(0, 10, 2) for number in range(writers)]
        assert store.names("words/") == sorted(f"words/e1/{turn}/{number}-1" for turn, number in expected)
        for turn, number in expected:
            assert store.read(f"words/e1/{turn}/{number}-1") == bytes([number]) + bytes([turn]) * 1000

    @settings(max_examples=20, deadline=None, suppress_health_check=_SHARED)
    @given(data=st.data())
    def test_it_is_a_dictionary_on_disk(self, store: CheckpointStore, data: st.DataObject) -> None:
        """Whatever is written and deleted in whatever order, it holds what a dict would."""
        for name in store.names(""):
            store.delete(name)
        model: dict[str, bytes] = {}
        for _ in range(data.draw(st.integers(1, 8))):
            name = "/".join(data.draw(names))
            if data.draw(st.booleans()):
                chunks = data.draw(st.lists(st.binary(max_size=20), max_size=3))
                store.write(name, chunks)
                model[name] = b"".join(chunks)
            else:
                store.delete(name)
                model.pop(name, None)
            prefix = data.draw(st.sampled_from(["", "a", "a/", "1", "ab/", "zz"]))
            assert store.names(prefix) == sorted(each for each in model if each.startswith(prefix))
        assert {name: store.read(name) for name in store.names("")} == model
