"""What becomes of sessions, watches and writes when ZooKeeper's servers die."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from kazoo.client import KazooClient
from support.clusters.zookeeper import ZooKeeper

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import NodeMissing, StateError, VersionConflict
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.plugins.state.zookeeper.manager import ZooKeeperStateManager
from heronpy.testing.contracts.state_manager import Told, increment
from heronpy.testing.waiting import eventually

pytestmark = pytest.mark.cluster

#: longer than an election takes
PATIENCE = "10s"

Opener = Callable[..., ZooKeeperStateManager]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens clients of servers, and closes them all at the end."""
    with contextlib.ExitStack() as stack:

        def opener(servers: ZooKeeper, root: str, **settings: str) -> ZooKeeperStateManager:
            manager = ZooKeeperStateManager()
            flags = {f"state.zookeeper.{key}": value for key, value in settings.items()}
            manager.initialize(load_config(os.devnull, environ={}, flags={**servers.settings(root), **flags}))
            stack.callback(manager.close)
            return manager

        yield opener


def end_session(servers: ZooKeeper, manager: ZooKeeperStateManager) -> None:
    """What ZooKeeper does to a client that it has not heard of for too long."""
    client, over = manager._client.connection.client, threading.Event()
    connect = client.handler.create_connection

    def connect_afterwards(*args: object, **options: object) -> object:
        over.wait(30)
        return connect(*args, **options)

    # else it may take its session back from the twin, before that has ended it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client.handler, "create_connection", connect_afterwards)
        with contextlib.closing(KazooClient(servers.hosts, client_id=client.client_id)) as twin:
            twin.start()
            twin.stop()
    over.set()


def test_no_increment_is_lost_or_done_twice_while_the_leader_dies(
    ensemble: ZooKeeper, opened: Opener
) -> None:
    root = ensemble.fresh_root()
    clients = [opened(ensemble, root, timeout=PATIENCE) for _ in range(3)]
    clients[0].create("/count", b"0")
    clients[0].create("/here", b"me", ephemeral=True)
    over = threading.Event()
    done = [0] * len(clients)

    def count(index: int) -> None:
        while not over.is_set():
            increment(clients[index], "/count")
            done[index] += 1

    threads = [threading.Thread(target=count, args=(index,)) for index in range(len(clients))]
    for thread in threads:
        thread.start()
    eventually(lambda: min(done) > 5)
    ensemble.leader().kill()
    before = list(done)
    eventually(lambda: all(now > then + 5 for now, then in zip(done, before, strict=True)))
    over.set()
    for thread in threads:
        thread.join()

    assert int(clients[0].get("/count").value) == sum(done)
    assert [client.session for client in clients] == [0, 0, 0]
    assert clients[1].get("/here").value == b"me"


def test_without_a_majority_calls_fail_soon_and_then_at_once_and_later_all_goes_on(
    ensemble: ZooKeeper, opened: Opener
) -> None:
    root = ensemble.fresh_root()
    state = opened(ensemble, root, timeout="1s")
    version = state.create("/t/here", b"", ephemeral=True)
    told = Told()
    state.watch("/t/here", told)
    ensemble.lose_majority()

    begun = time.monotonic()
    with pytest.raises(StateError, match="has not answered for 1 s"):
        state.get("/t/here")
    assert time.monotonic() - begun < 5
    begun = time.monotonic()
    for _ in range(20):
        with pytest.raises(StateError, match="quorum"):
            state.set("/t/here", b"x")
    assert time.monotonic() - begun < 3, "not a second for each"
    with pytest.raises(StateError, match=r"cannot reach ZooKeeper: .* connection refused.* does not serve"):
        opened(ensemble, root, timeout="1s")

    # it may have been told before the last server noticed
    told.within(0)
    ensemble.start()
    assert told.within(10)
    eventually(lambda: state.exists("/t/here"))
    assert state.session == 0
    assert state.set("/t/here", b"again", version=version) > version


def test_a_client_whose_session_ended_is_told_and_has_no_ephemeral_nodes(
    zookeeper: ZooKeeper, opened: Opener
) -> None:
    root = zookeeper.fresh_root()
    one, two = opened(zookeeper, root), opened(zookeeper, root)
    lost = one.create("/t/mine", b"", ephemeral=True)
    mine, theirs = Told(), Told()
    one.watch("/t/other", mine)
    two.watch("/t/mine", theirs)

    end_session(zookeeper, one)

    assert mine.within(10)
    assert one.session == 1
    assert theirs.until(lambda: not two.exists("/t/mine"))
    with pytest.raises(NodeMissing):
        one.set("/t/mine", b"", version=lost)
    two.create("/t/mine", b"", ephemeral=True)
    with pytest.raises(VersionConflict):
        one.set("/t/mine", b"", version=lost)
    # watches go on in the new session
    mine.within(0)
    two.create("/t/other", b"")
    assert mine.within(10)
    assert two.session == 0


def test_a_node_deleted_and_made_again_between_two_steps_is_not_taken_for_the_old_one(
    zookeeper: ZooKeeper, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = zookeeper.fresh_root()
    late, quick = opened(zookeeper, root), opened(zookeeper, root)
    version = late.create("/t", b"old", ephemeral=True)
    tree = late._client.tree
    look = tree.look

    def look_and_dawdle(path: str) -> object:
        sight = look(path)
        monkeypatch.setattr(tree, "look", look)
        quick.delete("/t")
        quick.create("/t", b"new")
        return sight

    monkeypatch.setattr(tree, "look", look_and_dawdle)
    with pytest.raises(VersionConflict):
        late.set("/t", b"late", version=version)
    assert quick.get("/t").value == b"new"


def test_a_value_larger_than_a_znode_lies_in_parts_that_go_with_it(
    zookeeper: ZooKeeper, opened: Opener
) -> None:
    root = zookeeper.fresh_root()
    one, two = opened(zookeeper, root), opened(zookeeper, root)
    large = os.urandom(1024 * 1024)
    version = one.create("/t/plan", large)
    assert two.get("/t/plan").value == large
    with zookeeper.client() as plain:
        sizes = [len(plain.get(path)[0]) for path in zookeeper.nodes(root)]
    assert max(sizes) < 1_000_000 < sum(sizes)

    larger = large[::-1]
    version = two.set("/t/plan", larger, version=version)
    assert one.get("/t/plan").value == larger
    with pytest.raises(VersionConflict):
        one.set("/t/plan", large, version=version - 1)
    assert len([path for path in zookeeper.nodes(root) if "/@parts/t/" in path]) == 2
    one.set("/t/plan", b"small")
    assert [path for path in zookeeper.nodes(root) if "/@parts/t/" in path] == []
    one.create("/t/gone", large, ephemeral=True)
    one.delete("/t", recursive=True)
    assert zookeeper.nodes(root) == []


def test_who_reads_while_a_large_value_is_replaced_gets_the_old_one_or_the_new_one(
    zookeeper: ZooKeeper, opened: Opener
) -> None:
    root = zookeeper.fresh_root()
    reader, writer = opened(zookeeper, root), opened(zookeeper, root)
    values = {bytes([number]) * (700_000 + number) for number in range(6)}
    writer.create("/t", min(values))

    def write() -> None:
        for value in sorted(values):
            writer.set("/t", value)

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        assert reader.get("/t").value in values
    thread.join()


def test_credentials_keep_others_out_of_a_topology(
    zookeeper: ZooKeeper, opened: Opener, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, root = tmp_path_factory.mktemp("credentials"), zookeeper.fresh_root() + "/deep/er"
    files = []
    for name in ("ann", "bob"):
        files.append(folder / name)
        files[-1].write_text(f"{name}:secret of {name}\n")
        files[-1].chmod(0o600)
    ann, bob = (opened(zookeeper, root, credentials=str(file)) for file in files)
    nobody = opened(zookeeper, root)
    assert (ann.warnings(), len(nobody.warnings())) == ((), 1)
    ann.create("/words/plan", b"ann's")
    bob.create("/other/plan", b"bob's")

    assert ann.get("/words/plan").value == b"ann's"
    assert nobody.children("/") == ["other", "words"]
    refused: list[Callable[[StateManager], object]] = [
        lambda state: state.get("/words/plan"),
        lambda state: state.children("/words"),
        lambda state: state.set("/words/plan", b"mine"),
        lambda state: state.create("/words/more", b""),
        lambda state: state.delete("/words", recursive=True),
        lambda state: state.watch("/words/plan", lambda: None),
    ]
    for state in (bob, nobody):
        for call in refused:
            with pytest.raises(
                StateError, match=r"/words.* other credentials.*state\.zookeeper\.credentials"
            ):
                call(state)
    ann.delete("/words", recursive=True)
    bob.delete("/other", recursive=True)
    assert zookeeper.nodes(root) == []

    files[0].chmod(0o640)
    with pytest.raises(StateError, match="other accounts can read the credentials"):
        opened(zookeeper, root, credentials=str(files[0]))
    files[1].write_text("bob")
    with pytest.raises(StateError, match="do not have the form user:password"):
        opened(zookeeper, root, credentials=str(files[1]))
    with pytest.raises(StateError, match="cannot read the credentials"):
        opened(zookeeper, root, credentials=str(folder / "none"))
