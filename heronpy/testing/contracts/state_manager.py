"""The state manager contract: subclass it in your tests and say how to make a client of your store."""

from __future__ import annotations

import abc
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heronpy.kernel.config import Config
from heronpy.kernel.errors import NodeExists, NodeMissing, StateError, TimedOut, VersionConflict
from heronpy.kernel.names import NAME
from heronpy.kernel.plugin.state_manager import StateManager

#: longest delay of a notification, and how long without one proves that none comes
SOON = 5.0
QUIET = 0.1

MEBIBYTE = 1024 * 1024

#: a store's own fixtures last for one test, and several stores may be tested in one run
_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]

_TRAPS = [
    "",
    ".",
    "..",
    "...",
    "%2e%2e",
    "a/../..",
    "/etc",
    "a//b",
    "a\0b",
    "a\n",
    "é",
    "-x",
    "@value",
    "~",
    "a\\b",
]

#: paths that no store may take
bad_paths = st.one_of(
    st.sampled_from(_TRAPS).map(lambda trap: f"/{trap}/x"),
    st.sampled_from(_TRAPS).map(lambda trap: f"/x/{trap}"),
    st.text(max_size=20).filter(lambda text: not text.startswith("/")),
    st.text(min_size=1, max_size=20)
    .filter(lambda text: not NAME.fullmatch(text))
    .map(lambda text: f"/x/{text}//"),
    st.just("/" + "x" * 129),
)


class Told:
    """A callback that counts, and can be waited for."""

    def __init__(self) -> None:
        self.times = 0
        self._more = threading.Condition()

    def __call__(self) -> None:
        with self._more:
            self.times += 1
            self._more.notify_all()

    def within(self, seconds: float) -> bool:
        """Whether it was called since the last time we asked, or is in this time."""
        with self._more:
            called = self._more.wait_for(lambda: self.times > 0, seconds)
            self.times = 0
            return called

    def until(self, true: Callable[[], bool]) -> bool:
        """Read again after each notification, as users of watches do."""
        while not true():
            if not self.within(SOON):
                return False
        return True


class StateManagerContract(abc.ABC):
    """What the engine relies on, whatever the store.

    ```python
    class TestMyStore(StateManagerContract):
        def make(self) -> StateManager:
            return MyStore()

        def config(self) -> Config:
            return load_config(os.devnull, environ={}, flags={"plugins.mystore.url": "…"})
    ```

    Each test wants a store that is empty at its start.
    """

    @abc.abstractmethod
    def make(self) -> StateManager:
        """A fresh state manager, not yet initialized."""

    @abc.abstractmethod
    def config(self) -> Config:
        """The settings to initialize with; within one test they always mean the same store."""

    def owner_command(self, path: str) -> list[str]:
        """A command that reads the config as JSON, makes an ephemeral node, prints a line, and stays.

        The default imports the class of make() by its name.
        """
        made = type(self.make())
        module = "heronpy.testing.contracts.ephemeral_owner"
        return [sys.executable, "-m", module, f"{made.__module__}:{made.__qualname__}", path]

    @contextlib.contextmanager
    def client(self) -> Iterator[StateManager]:
        """One more client of the store, as another process would have."""
        manager = self.make()
        manager.initialize(self.config())
        try:
            yield manager
        finally:
            manager.close()

    @contextlib.contextmanager
    def owner(self, path: str) -> Iterator[subprocess.Popen[bytes]]:
        """Another process that owns an ephemeral node."""
        command = self.owner_command(path)
        # it finds what we find, also a package that is not installed
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(self.config().to_plain()).encode())
                process.stdin.close()
                assert process.stdout.readline().strip()
                yield process
            finally:
                process.kill()

    @pytest.fixture
    def one(self) -> Iterator[StateManager]:
        with self.client() as manager:
            yield manager

    @pytest.fixture
    def two(self) -> Iterator[StateManager]:
        with self.client() as manager:
            yield manager

    # the tree

    def test_what_one_client_writes_the_other_reads(self, one: StateManager, two: StateManager) -> None:
        version = one.create("/t/plan", b"\0\xffplan")
        node = two.get("/t/plan")
        assert (node.value, node.version) == (b"\0\xffplan", version)

    def test_a_missing_node(self, one: StateManager) -> None:
        with pytest.raises(NodeMissing, match="/t/none"):
            one.get("/t/none")
        assert one.children("/t/none") == []
        assert not one.exists("/t/none")
        one.delete("/t/none")
        one.delete("/t/none", recursive=True)

    def test_deleting_a_missing_node_leaves_its_neighbours(self, one: StateManager) -> None:
        one.create("/t/a/b", b"")
        one.delete("/t/none", recursive=True)
        one.delete("/t/a/none")
        assert one.exists("/t/a/b")

    def test_create_refuses_a_node_that_is_there(self, one: StateManager, two: StateManager) -> None:
        one.create("/t", b"first")
        with pytest.raises(NodeExists, match="/t"):
            two.create("/t", b"second")
        assert one.get("/t").value == b"first"

    def test_children_are_sorted_and_parents_made_as_needed(
        self, one: StateManager, two: StateManager
    ) -> None:
        for name in ("b", "a.1", "c"):
            one.create(f"/t/deep/{name}/x", b"")
        assert two.children("/t/deep") == ["a.1", "b", "c"]
        assert two.children("/") == ["t"]
        assert two.exists("/t/deep")

    def test_a_parent_can_be_given_a_value(self, one: StateManager) -> None:
        one.create("/t/a", b"")
        one.create("/t", b"parent")
        assert one.get("/t").value == b"parent"
        assert one.children("/t") == ["a"]

    def test_a_node_with_children_is_deleted_only_recursively(self, one: StateManager) -> None:
        one.create("/t/a/b", b"")
        one.create("/u", b"")
        with pytest.raises(StateError, match="/t"):
            one.delete("/t")
        assert one.exists("/t/a/b")
        one.delete("/t", recursive=True)
        assert not one.exists("/t/a/b")
        assert one.children("/") == ["u"]

    def test_a_value_of_one_mebibyte_fits_and_no_more(self, one: StateManager) -> None:
        one.create("/big", b"x" * MEBIBYTE)
        with pytest.raises(StateError, match="/big"):
            one.set("/big", b"y" * (MEBIBYTE + 1))
        with pytest.raises(StateError, match="/more"):
            one.create("/more", b"y" * (MEBIBYTE + 1))
        assert one.get("/big").value == b"x" * MEBIBYTE
        assert one.children("/") == ["big"]

    @given(path=bad_paths)
    @settings(max_examples=60, deadline=None, suppress_health_check=_SHARED)
    def test_a_path_outside_the_grammar_is_refused_everywhere(self, one: StateManager, path: str) -> None:
        calls: list[Callable[[], object]] = [
            lambda: one.get(path),
            lambda: one.create(path, b"x"),
            lambda: one.create(path, b"x", ephemeral=True),
            lambda: one.set(path, b"x"),
            lambda: one.delete(path, recursive=True),
            lambda: one.children(path),
            lambda: one.exists(path),
            lambda: one.watch(path, lambda: None),
        ]
        for call in calls:
            with pytest.raises(StateError) as caught:
                call()
            assert not isinstance(caught.value, NodeMissing | NodeExists | VersionConflict)
        assert one.children("/") == []

    # versions

    def test_set_without_a_version_creates_and_replaces(self, one: StateManager) -> None:
        first = one.set("/t", b"1")
        second = one.set("/t", b"2")
        assert second > first
        assert one.get("/t").version == second

    def test_set_with_a_version_wants_that_version(self, one: StateManager, two: StateManager) -> None:
        with pytest.raises(NodeMissing):
            one.set("/t", b"x", version=1)
        first = one.create("/t", b"1")
        second = two.set("/t", b"2", version=first)
        with pytest.raises(VersionConflict, match="/t"):
            one.set("/t", b"late", version=first)
        assert one.get("/t").value == b"2"
        assert one.get("/t").version == second > first

    def test_a_version_never_comes_back(self, one: StateManager) -> None:
        seen = set()
        for _ in range(5):
            seen.add(one.create("/t", b""))
            seen.add(one.set("/t", b""))
            one.delete("/t")
        assert len(seen) == 10

    def test_compare_and_set_loses_no_increment(self, one: StateManager, two: StateManager) -> None:
        one.create("/count", b"0")

        def count(client: StateManager) -> None:
            for _ in range(25):
                increment(client, "/count")

        threads = [threading.Thread(target=count, args=(client,)) for client in (one, one, two, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.get("/count").value == b"100"

    # ephemeral nodes

    def test_an_ephemeral_node_ends_with_its_client(self, one: StateManager) -> None:
        with self.client() as other:
            other.create("/t/here", b"me", ephemeral=True)
            other.create("/t/stays", b"")
            assert one.get("/t/here").value == b"me"
            assert one.children("/t") == ["here", "stays"]
        with pytest.raises(NodeMissing):
            one.get("/t/here")
        assert one.children("/t") == ["stays"]

    def test_setting_an_ephemeral_node_keeps_its_owner(self, one: StateManager) -> None:
        with self.client() as other:
            other.create("/t", b"1", ephemeral=True)
            one.set("/t", b"2")
        assert not one.exists("/t")

    def test_closing_spares_a_node_that_others_made_there(self, one: StateManager) -> None:
        with self.client() as other:
            other.create("/t", b"old", ephemeral=True)
            one.delete("/t")
            one.create("/t", b"new")
        assert one.get("/t").value == b"new"

    def test_an_ephemeral_node_ends_with_its_process(self, one: StateManager) -> None:
        with self.owner("/t/owner/1") as process:
            assert one.get("/t/owner/1").value == b"owned"
            with pytest.raises(NodeExists):
                one.create("/t/owner/1", b"")
            told = Told()
            one.watch("/t/owner/1", told)
            process.kill()
            assert told.until(lambda: not one.exists("/t/owner/1"))
        assert not one.exists("/t")
        one.create("/t/owner/1", b"again", ephemeral=True)

    # watches

    @pytest.mark.parametrize("path", ["/t/a", "/t", "/"])
    def test_a_watch_is_told_when_a_node_comes(self, one: StateManager, two: StateManager, path: str) -> None:
        told = Told()
        one.watch(path, told)
        assert not told.within(QUIET)
        two.create("/t/a", b"")
        assert told.until(lambda: one.exists("/t/a"))

    def test_a_watch_is_told_of_values(self, one: StateManager, two: StateManager) -> None:
        two.create("/t/a", b"0")
        told = Told()
        one.watch("/t/a", told)
        assert not told.within(QUIET)
        for value in (b"1", b"2", b"3"):
            two.set("/t/a", value)
            assert told.until(lambda value=value: one.get("/t/a").value == value)  # type: ignore[misc]

    def test_a_watch_is_told_of_children(self, one: StateManager, two: StateManager) -> None:
        two.create("/t", b"")
        told = Told()
        one.watch("/t", told)
        two.create("/t/a/deep", b"")
        assert told.until(lambda: one.children("/t") == ["a"])
        two.delete("/t/a", recursive=True)
        assert told.until(lambda: one.children("/t") == [])

    def test_a_watch_outlives_its_node(self, one: StateManager, two: StateManager) -> None:
        two.create("/t/a/b", b"1")
        told = Told()
        one.watch("/t/a/b", told)
        two.delete("/t", recursive=True)
        assert told.until(lambda: not one.exists("/t/a/b"))
        two.create("/t/a/b", b"2")
        assert told.until(lambda: one.exists("/t/a/b"))

    def test_a_watch_hears_nothing_of_what_was_there_or_is_elsewhere(
        self, one: StateManager, two: StateManager
    ) -> None:
        first, second = Told(), Told()
        one.watch("/t", first)
        two.create("/t", b"")
        one.watch("/t", second)
        assert first.within(SOON)
        two.create("/u", b"")
        two.create("/t2/t", b"")
        two.get("/t")
        assert not second.within(QUIET)
        assert not first.within(0)

    def test_a_watch_is_told_when_an_ephemeral_child_ends(self, one: StateManager) -> None:
        told = Told()
        with self.client() as other:
            other.create("/t/a", b"", ephemeral=True)
            one.watch("/t", told)
        assert told.until(lambda: one.children("/t") == [])

    def test_no_change_is_lost_among_many(self, one: StateManager, two: StateManager) -> None:
        told = Told()
        one.watch("/t", told)

        def change() -> None:
            for number in range(50):
                two.create("/t/a", b"")
                two.delete("/t/a")
                two.set("/t", str(number).encode())

        thread = threading.Thread(target=change)
        thread.start()
        assert told.until(lambda: one.exists("/t") and value_of(one, "/t") == b"49")
        thread.join()

    def test_a_cancelled_watch_is_silent(self, one: StateManager, two: StateManager) -> None:
        told, kept = Told(), Told()
        watch = one.watch("/t", told)
        one.watch("/t", kept)
        watch.cancel()
        watch.cancel()
        two.create("/t", b"")
        assert kept.within(SOON)
        assert not told.within(QUIET)

    def test_a_watch_can_be_cancelled_from_its_callback(self, one: StateManager, two: StateManager) -> None:
        told = Told()

        def once() -> None:
            watch.cancel()
            told()

        watch = one.watch("/t", once)
        two.create("/t", b"")
        assert told.within(SOON)
        two.set("/t", b"more")
        assert not told.within(QUIET)

    def test_closing_ends_watches_and_threads(self, two: StateManager) -> None:
        before = threading.active_count()
        told = Told()
        with self.client() as other:
            other.watch("/t", told)
        assert threading.active_count() == before
        two.create("/t", b"")
        assert not told.within(QUIET)

    def test_closing_twice_is_fine(self) -> None:
        with self.client() as other:
            other.create("/t", b"", ephemeral=True)
            other.close()

    # locks

    def test_a_lock_keeps_others_out(self, one: StateManager, two: StateManager) -> None:
        with one.lock("/locks/t", timeout=SOON):
            with pytest.raises(TimedOut, match="/locks/t"), two.lock("/locks/t", timeout=0.05):
                pass
            with two.lock("/locks/u", timeout=SOON):
                pass
        with two.lock("/locks/t", timeout=SOON):
            pass

    def test_a_lock_is_free_after_an_error(self, one: StateManager, two: StateManager) -> None:
        with pytest.raises(KeyError), one.lock("/locks/t", timeout=SOON):
            raise KeyError
        with two.lock("/locks/t", timeout=0):
            pass

    def test_a_lock_is_handed_on(self, one: StateManager, two: StateManager) -> None:
        inside = 0
        most = 0
        rounds = 0

        def work(client: StateManager) -> None:
            nonlocal inside, most, rounds
            for _ in range(10):
                with client.lock("/locks/t", timeout=30):
                    inside += 1
                    most = max(most, inside)
                    rounds += 1
                    inside -= 1

        threads = [threading.Thread(target=work, args=(client,)) for client in (one, one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (most, rounds) == (1, 30)

    def test_a_holder_that_dies_lets_go(self, one: StateManager) -> None:
        with self.owner("/locks/t") as process:
            killer = threading.Timer(QUIET, process.kill)
            killer.start()
            with one.lock("/locks/t", timeout=SOON):
                killer.join()


def increment(client: StateManager, path: str) -> None:
    """Increment a number in a node; retry after each lost race."""
    while True:
        node = client.get(path)
        with contextlib.suppress(VersionConflict):
            client.set(path, str(int(node.value) + 1).encode(), version=node.version)
            return


def value_of(client: StateManager, path: str) -> bytes | None:
    try:
        return client.get(path).value
    except NodeMissing:
        return None
