"""A topology at work while strangers knock, shout and forge: it notices, counts, and works on."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import stat
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import psutil
import pytest
import zmq
from support.faults.strangers import (
    Client,
    flood,
    garbage_connections,
    knock,
    mutations,
    replays,
    silent_connections,
)
from support.running.engine import TOPOLOGIES, Engine, wait_until

from heronpy.container.folders import launch_file
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.logs.rate_limited import INTERVAL
from heronpy.kernel.machine.addresses import DATA_SOCKET, process_identity, socket_path
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import StatusRequest, wrap
from heronpy.kernel.transport.sockets import Local
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.registrations import read

ENTRY = struct.Struct("<II")
#: links within containers → frames at a data socket, and connections at each TCP port, the same for all links
ATTACKS: dict[Local, tuple[int, int]] = {"unix": (250_000, 1000), "zmq": (80_000, 50)}
#: what a process may grow by, in MB: batches that happen to be on their way. An object that each frame left
#: behind would be more
GROWTH = 8
#: what a process may open in the flood; connections a second at each door, and for how long
OPEN_FILES = 512
RATE = 400
FLOOD_SECONDS = 4.0


@pytest.fixture
def config(engine: Engine) -> Config:
    return load_config(os.devnull, environ=engine.environment)


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    opened = open_state(config)
    yield opened
    opened.close()


def registrations(state: StateManager, topology: str) -> dict[str, Registration]:
    """Everybody of a topology who listens on TCP."""
    tree = Tree(topology)
    paths = [tree.master, *(tree.stream_manager(c) for c in plan_of(state, topology).containers())]
    found = {path: read(state, path, Registration) for path in paths}
    return {path: one for path, one in found.items() if one is not None}


def plan_of(state: StateManager, topology: str) -> PhysicalPlan:
    return PhysicalPlan.from_json(state.get(Tree(topology).physical_plan).value)


def written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("ledger-*")) // ENTRY.size


def memory(engine: Engine) -> dict[int, float]:
    """Megabytes of every process, by pid."""
    found = {}
    for process in engine.processes():
        with process.oneshot():
            found[process.pid] = process.memory_info().rss / 2**20
    return found


def rejected(engine: Engine, name: str) -> dict[str, int]:
    """By whoever refused something."""
    status = engine.status(name)
    counts = {"master": status["rejected"]}
    counts |= {f"container {c['id']}": c["rejected"] for c in status["containers"]}
    counts |= {f"{i['component']}[{i['index']}]": i["rejected"] for i in status["instances"]}
    return counts


def at_doors(engine: Engine, name: str) -> list[int]:
    """What each process that listens has refused."""
    counts = rejected(engine, name)
    return [count for who, count in counts.items() if who == "master" or who.startswith("container")]


@pytest.mark.cluster
@pytest.mark.timeout(400)
@pytest.mark.parametrize("local", ATTACKS)
def test_strangers_are_counted_and_change_nothing(
    engine: Engine, config: Config, state: StateManager, tmp_path: Path, local: Local
) -> None:
    attacks, connections = ATTACKS[local]
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    name = "Steady"
    engine.ok("submit", str(TOPOLOGIES / "steady.py"), str(tmp_path), "--set", f"transport.local={local}")
    wait_until(lambda: written(tmp_path) > 10_000, 60, "a good beginning")
    listening = registrations(state, name)
    assert len(listening) == 4
    plan = plan_of(state, name)
    incarnations = {i["task"]: i["incarnation"] for i in engine.status(name)["instances"]}
    frames = mutations(replays(plan, incarnations), rng, 10_000)
    sockets = TopologyLaunch.read(launch_file(config, name)).container_sockets(plan.containers()[0])
    data = socket_path(sockets, DATA_SOCKET)
    nobody_of_ours = process_identity(max(incarnations) + 1, 1)

    flood(data, b"warming up", itertools.islice(itertools.cycle(frames), attacks // 20), local)
    before = memory(engine)
    for one in listening.values():
        garbage_connections(one.endpoint, connections, rng)
    after_garbage = written(tmp_path)
    for identity in (b"stranger", nobody_of_ours):
        flood(data, identity, itertools.islice(itertools.cycle(frames), attacks // 2), local)
    assert written(tmp_path) > after_garbage + 1000
    after = memory(engine)
    check_ledger(tmp_path)
    print({psutil.Process(pid).name(): (round(before[pid]), round(after[pid])) for pid in after})
    assert after.keys() == before.keys()
    assert {pid: grown for pid in after if (grown := after[pid] - before[pid]) > GROWTH} == {}

    def all_counted() -> bool:
        counts = rejected(engine, name)
        print(counts)
        # Every frame was refused by somebody; of the connections all that libzmq tells of.
        return sum(counts.values()) > attacks and min(
            counts[who] for who in ("master", "container 1", "container 2", "container 3")
        ) > connections / 2  # fmt: skip

    wait_until(all_counted, 20, "everything refused is counted")
    assert {i["restarts"] for i in engine.status(name)["instances"]} == {0}

    def logs() -> str:
        return "".join(path.read_text() for path in engine.home.glob("topologies/*/logs/*.log"))

    def told() -> bool:
        flood(data, nobody_of_ours, iter(frames[:1]), local)
        return f"dropped a frame from process {max(incarnations) + 1} (incarnation 1)" in logs()

    # such lines are rare, and the next one is of the next frame
    wait_until(told, 2 * INTERVAL, "the log names the process that is none of ours", logs)
    assert "dropped a frame from an unknown peer (" in logs()
    assert "Traceback" not in logs()
    engine.ok("kill", name)
    assert engine.leftovers() == []


def check_ledger(folder: Path) -> None:
    """End the stream; every tuple that was emitted has arrived once, and nothing else has."""
    (folder / "enough").touch()
    wait_until(lambda: len(list(folder.glob("emitted-*"))) == 2, 20, "the spouts end")
    emitted = {int(path.name[8:]): int(path.read_text()) for path in folder.glob("emitted-*")}
    total = sum(emitted.values())
    wait_until(lambda: written(folder) >= total, 60, "all tuples", lambda: f"{written(folder)} of {total}")
    arrived = [entry for path in folder.glob("ledger-*") for entry in ENTRY.iter_unpack(path.read_bytes())]
    assert sorted(arrived) == [(task, n) for task in sorted(emitted) for n in range(emitted[task])]


@pytest.fixture
def confined(tmp_path: Path) -> Iterator[Engine]:
    """An engine whose processes may open few files, and cannot ask for more."""
    limit = ("sh", "-c", f'ulimit -n {OPEN_FILES} && exec "$@"', "sh")
    with contextlib.closing(Engine(tmp_path / "home", limit)) as engine:
        yield engine


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_a_flood_of_silent_connections_takes_neither_files_nor_flow(confined: Engine, tmp_path: Path) -> None:
    engine, name = confined, "Steady"
    engine.ok("submit", str(TOPOLOGIES / "steady.py"), str(tmp_path))
    wait_until(lambda: written(tmp_path) > 1000, 60, "a beginning")
    settings = load_config(os.devnull, environ={}, flags={"home": str(engine.home)})
    with contextlib.closing(open_state(settings)) as state:
        doors = [one.endpoint for one in registrations(state, name).values()]
    processes = engine.processes()
    begin, open_files = written(tmp_path), []
    made = silent_connections(
        doors, RATE, FLOOD_SECONDS, lambda: open_files.append(max(p.num_fds() for p in processes))
    )
    arrived = written(tmp_path) - begin
    print(f"{made} at each of {len(doors)} doors, {max(open_files)} open files, {arrived} tuples")
    assert OPEN_FILES / 2 < max(open_files) < OPEN_FILES - 100
    # two spouts emit 4,000 a second on a machine that has the time for it
    assert arrived > 500 * FLOOD_SECONDS
    check_ledger(tmp_path)
    status = engine.status(name)
    assert status["state"] == "RUNNING"
    assert {i["restarts"] for i in status["instances"]} == {0}
    wait_until(lambda: min(at_doors(engine, name)) >= made, 20, "all are counted")
    engine.ok("kill", name)
    assert engine.leftovers() == []


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_nobody_gets_in_without_a_key_of_this_very_topology(engine: Engine, state: StateManager) -> None:
    for name in ("ours", "theirs"):
        engine.ok("submit", str(TOPOLOGIES / "trickle.py"), name)
    neighbour = Client.make()
    registration = Registration(neighbour.public.decode())
    state.create(f"{Tree('theirs').clients}/neighbour", msgspec.json.encode(registration))
    ask = [wrap(StatusRequest())]
    masters = {name: registrations(state, name)[Tree(name).master] for name in ("ours", "theirs")}
    theirs = masters["theirs"]
    assert knock(theirs.endpoint, theirs.public_key, neighbour, ask, 10), "a neighbour is known at home"
    before = _at_the_doors(engine)

    strangers = {"no key": Client(), "an unknown key": Client.make(), "a neighbour's key": neighbour}
    for count, (who, client) in enumerate(strangers.items(), 1):
        # Long enough for the handshake to run out of time.
        doors = registrations(state, "ours").values()
        with ThreadPoolExecutor(len(doors)) as pool:
            answers = [pool.submit(knock, one.endpoint, one.public_key, client, ask, 2.5) for one in doors]
        assert not any(answer.result() for answer in answers), who
        wait_until(lambda least=before + count: _at_the_doors(engine) >= least, 20, f"{who} is counted")  # type: ignore[misc]
    assert {i["state"] for i in engine.status("ours")["instances"]} == {"running"}
    engine.ok("kill", "--all")
    assert engine.leftovers() == []


def _at_the_doors(engine: Engine) -> int:
    """The least that any listening process of ours has counted."""
    return min(at_doors(engine, "ours"))


#: Z85, the printable form of a key
SECRET = re.compile(rb"(?=([0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}))")


def secrets_in(text: bytes, published: set[bytes]) -> set[bytes]:
    """The published keys whose secret halves are somewhere in this text."""
    found = set()
    for match in set(SECRET.findall(text)):
        try:
            public = zmq.curve_public(match)
        except (zmq.ZMQError, ValueError):
            continue
        found |= {public} & published
    return found


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_no_secret_is_written_down_anywhere(
    engine: Engine, config: Config, state: StateManager, tmp_path: Path
) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "discreet")
    tree, plan = Tree("discreet"), plan_of(state, "discreet")
    managers = [read(state, tree.metrics_manager(c), Registration) for c in plan.containers()]
    known = [*registrations(state, "discreet").values(), *filter(None, managers)]
    published = {one.public_key.encode() for one in known}
    assert len(published) == 1 + 2 * len(plan.containers())

    canary = Client.make()
    assert secrets_in(b"x=" + canary.secret + b";", {canary.public}) == {canary.public}
    spoken = {
        Path(f"/proc/{process.pid}/{name}").read_bytes()
        for process in engine.processes()
        for name in ("cmdline", "environ")
    }
    # what lies in @tmp may be gone by the time that we look at it
    lasting = [path for path in engine.home.rglob("*") if "@tmp" not in path.parent.parts]
    files = [path for path in lasting if path.is_file()]
    assert any(b"public_key" in path.read_bytes() for path in files)
    text = b"\n".join([*spoken, *(path.read_bytes() for path in files)])
    assert secrets_in(text, published) == set()

    sockets = Path(TopologyLaunch.read(launch_file(config, "discreet")).sockets)
    private = [sockets, *sockets.iterdir(), *lasting]
    assert [path for path in private if path.is_dir() and stat.S_IMODE(path.stat().st_mode) != 0o700] == []
    nodes = [path for path in files if path.is_relative_to(engine.home / "state")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in nodes} == {0o600}
    engine.ok("kill", "discreet")
    assert engine.leftovers() == []
