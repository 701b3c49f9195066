"""Logs of containers on other machines: who may ask, what is told, and who does not answer."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from heronpy.container.metrics_manager.log_port import LogPort
from heronpy.kernel.config import load_config
from heronpy.kernel.logs.log_client import LogClient
from heronpy.kernel.logs.log_server import MOST
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.protocol import LogReply, LogRequest, unwrap, wrap
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.paths import ChildView, ExecutorNode, Registration, Tree
from heronpy.plugins.state.localfs.manager import LocalFsStateManager

TREE = Tree("words")
#: seconds for those that do not answer; those that live do within milliseconds
PATIENCE = 1.5


class Machine:
    """A folder of logs, and a process of a container that answers for it."""

    def __init__(self, folder: Path, container: int, state: StateManager) -> None:
        self.logs = folder
        self.logs.mkdir(exist_ok=True)
        self._reactor = Reactor()
        self._transport = Transport()
        self.port = LogPort(folder, TREE, state, self._reactor, self._transport)
        self.registration = Registration(self._transport.keys.public, 1, self.port.endpoint)
        state.set(TREE.metrics_manager(container), msgspec.json.encode(self.registration))
        self._thread = threading.Thread(target=self._reactor.run)
        self._thread.start()

    def write(self, name: str, data: bytes) -> None:
        (self.logs / f"{name}.log").write_bytes(data)

    def close(self) -> None:
        self._reactor.stop()
        self._thread.join()
        self._transport.close()
        self._reactor.close()


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateManager]:
    manager = LocalFsStateManager()
    manager.initialize(load_config(os.devnull, environ={}, flags={"home": str(tmp_path / "home")}))
    yield manager
    manager.close()


@pytest.fixture
def machines(tmp_path: Path, state: StateManager) -> Iterator[list[Machine]]:
    """Containers 1 and 2, each on a machine of its own."""
    with contextlib.ExitStack() as stack:
        made = [Machine(tmp_path / f"machine-{number}", number, state) for number in (1, 2)]
        for machine in made:
            stack.callback(machine.close)
        yield made


def has_process(state: StateManager, container: int, name: str) -> None:
    child = ChildView(pid=1, state="running", restarts=0, last_exit="", since=0.0)
    state.set(TREE.executor(container), msgspec.json.encode(ExecutorNode(1, 1, {name: child})))


def test_all_machines_are_asked(machines: list[Machine], state: StateManager) -> None:
    machines[0].write("count[0]", b"zero\n")
    machines[1].write("count[1]", b"first\nsecond\n")
    with LogClient(state, "words") as client:
        assert client.extents() == {"count[0]": range(5), "count[1]": range(13)}
        assert client.silent == ()
        assert client.read("count[1]", 6, 100) == b"second\n"
        machines[1].write("count[1]", b"first\nsecond\nthird\n")
        assert client.extents()["count[1]"] == range(19)
        assert client.read("never", 0, 100) == b""


def test_a_log_that_was_put_aside_is_one_log(machines: list[Machine], state: StateManager) -> None:
    machines[0].write("count[0]", b"third\n")
    (machines[0].logs / "count[0].log.100").write_bytes(b"first\n")
    (machines[0].logs / "count[0].log.106").write_bytes(b"second\n")
    with LogClient(state, "words") as client:
        assert client.extents() == {"count[0]": range(100, 119)}
        assert client.read("count[0]", 102, 14) == b"rst\nsecond\nthi"


def test_what_two_machines_have_is_whose_process_it_is(machines: list[Machine], state: StateManager) -> None:
    machines[0].write("count[1]", b"left behind by a container that has moved\n")
    machines[1].write("count[1]", b"mine\n")
    has_process(state, 2, "count[1]")
    with LogClient(state, "words") as client:
        assert client.extents() == {"count[1]": range(5)}
        assert client.read("count[1]", 0, 100) == b"mine\n"


def test_who_does_not_answer_is_told_and_waited_for_once(
    machines: list[Machine], state: StateManager
) -> None:
    machines[0].write("count[0]", b"zero\n")
    dead = Registration(machines[0].registration.public_key, 1, "tcp://127.0.0.1:1")
    state.set(TREE.metrics_manager(3), msgspec.json.encode(dead))
    state.set(TREE.executor(4), msgspec.json.encode(ExecutorNode(1, 1)))
    with LogClient(state, "words", patience=PATIENCE) as client:
        assert client.extents() == {"count[0]": range(5)}
        assert client.silent == (3, 4)
        client.patience = 3600.0
        assert client.extents() == {"count[0]": range(5)}
        assert client.silent == (3, 4)


def test_a_successor_is_found_while_it_is_asked(
    machines: list[Machine], state: StateManager, tmp_path: Path
) -> None:
    machines[0].write("count[0]", b"zero\n")
    dead = Registration(machines[0].registration.public_key, 1, "tcp://127.0.0.1:1")
    state.set(TREE.metrics_manager(3), msgspec.json.encode(dead))
    with LogClient(state, "words", patience=PATIENCE) as client:
        client.extents()
        with contextlib.closing(Machine(tmp_path / "machine-3", 3, state)) as third:
            third.write("count[2]", b"here I am\n")
            while client.silent:
                found = client.extents()
        assert found == {"count[0]": range(5), "count[2]": range(10)}


def test_an_answer_is_bounded_and_a_way_to_nothing_but_logs(
    machines: list[Machine], state: StateManager, tmp_path: Path
) -> None:
    (machine, _) = machines
    machine.write("large", b"x" * (MOST + 1))
    (tmp_path / "secret.log").write_bytes(b"secret")
    (machine.logs / "folder.log").mkdir()
    (machine.logs / "link.log").symlink_to(tmp_path / "secret.log")
    (machine.logs / "launch.json").write_bytes(b"{}")
    with LogClient(state, "words") as client:
        assert client.extents() == {"large": range(MOST + 1)}
        assert len(client.read("large", 0, 2 * MOST)) == MOST
        assert client.read("large", MOST, 2 * MOST) == b"x"

        for trap in ("../secret", str(tmp_path / "secret"), "link", "folder", "launch.json", "a\0b", ""):
            assert asked(client, machine, trap) == b""


def asked(client: LogClient, machine: Machine, name: str) -> bytes:
    """What a client gets that does not care which logs there are."""
    session, answers = client._session, list[bytes]()
    dealer = session.connect(machine.registration, lambda: answers.extend((dealer.receive() or [])[-1:]))
    dealer.send([wrap(LogRequest(number=7, name=name, offset=0, most=100))])
    while not answers:
        session.reactor.turn(1.0)
    session.disconnect(dealer)
    reply = unwrap(answers[0])
    assert isinstance(reply, LogReply)
    return reply.data


def test_strangers_get_no_answer(machines: list[Machine]) -> None:
    to = machines[0].registration
    with Transport() as transport:
        dealer = transport.dealer_tcp(to.endpoint, b"me", to.public_key)
        dealer.send([wrap(LogRequest(number=7, name="count[0]", offset=0, most=100))])
        while not machines[0].port.rejected:
            assert dealer.receive() is None
            time.sleep(0.01)
