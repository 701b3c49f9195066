"""Two containers on two machines whose network is cut: one way, both ways, for seconds and for too long."""

from __future__ import annotations

import json
import random
import statistics
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from support.clusters.namespaces import Network
from support.faults.fire import SEED
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.fleet import alive, executors, name_of, resume, stop_without_the_lock, words
from support.running.replaying import progress
from support.schedulers.machines import install

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

#: more than is ever emitted: spouts run until they are paused
ENDLESS = 1 << 31

#: tuples a second where the flow must last until the cut, or full speed proves no more
RATE = 4_000

#: file of a topology, and what an entry of its ledger looks like
KINDS = {"LedgerTopology": ("ledger.py", "<III"), "Replaying": ("replaying.py", "<II")}


@pytest.fixture
def network() -> Iterator[Network]:
    with Network(4) as made:
        yield made


@pytest.fixture
def engine(tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Commands and the Topology Master are at the hub; the test itself is on none of the machines."""
    known = install(tmp_path / "plugins")
    monkeypatch.setenv("PYTHONPATH", known, prepend=":")
    made = Engine(tmp_path / "home", front=network.inside(network.hub))
    try:
        yield made
    finally:
        made.close()


class Running:
    """A topology on the first two machines, and the ledger that its sinks keep."""

    def __init__(
        self,
        engine: Engine,
        network: Network,
        name: str,
        settings: dict[str, str],
        tuples: int = ENDLESS,
        *rate: int,
    ) -> None:
        file, entry = KINDS[name]
        self.engine = engine
        self.network = network
        self.name = name
        self.folder = engine.home.parent
        self.entry = struct.Struct(entry)
        machines = ",".join(network.machines)
        where = {"plugins.machines.names": machines, "transport.host": network.subnet, "topology.stmgrs": "2"}
        flags = [flag for key, value in {**settings, **where}.items() for flag in ("--set", f"{key}={value}")]
        topology = (str(TOPOLOGIES / file), str(tuples), str(self.folder), *map(str, rate))
        engine.ok("submit", *topology, "--scheduler", "machines", *flags)
        self.flows(60)

    def written(self) -> int:
        """Entries in all ledgers."""
        return sum(path.stat().st_size for path in self.folder.glob("ledger-*")) // self.entry.size

    def entries(self) -> list[tuple[int, ...]]:
        found = [path.read_bytes() for path in sorted(self.folder.glob("ledger-*"))]
        return [entry for data in found for entry in self.entry.iter_unpack(data)]

    def flows(self, seconds: float) -> float:
        """Wait until more has come than anybody can have held; how long that took."""
        begun, before = time.monotonic(), self.written()
        wait_until(lambda: self.written() > before + 5000, seconds, "new output", self.engine.log_tails)
        return time.monotonic() - begun

    def processes(self) -> set[psutil.Process]:
        return {each for each in self.engine.processes() if (given := words(each)) and "submit" not in given}

    def suffer(self, fault: str, seconds: float) -> float:
        """Cut the network for so long and until nothing comes any more; measure how soon it comes again."""
        first, second = self.network.machines[:2]
        time.sleep(0.5)
        for sender, receiver in CUTS[fault](first, second):
            self.network.cut(sender, receiver)
        begun = time.monotonic()
        time.sleep(seconds - 0.5)
        wait_until(self.is_still, 10, f"{fault}: an end of the flow")
        self.network.heal()
        lasted = time.monotonic() - begun
        healed = self.flows(30)
        print(f"{fault} for {lasted:.1f} s: new output {healed:.2f} s after healing")
        return healed

    def is_still(self) -> bool:
        """Whether half a second brings nothing new: what was beyond the cut has been worked off."""
        before = self.written()
        time.sleep(0.5)
        return self.written() == before

    def pause(self) -> int:
        """Stop the spouts and wait until all that they have emitted is in the ledger; how many that was."""
        self.engine.ok("deactivate", self.name)
        # What status says is a second or two old, so only the ledger's own number is the last word.
        wait_until(
            lambda: self.total("emitted") == self.written() and self.is_still(),
            60,
            "a complete ledger",
            lambda: f"{self.written()} of {self.total('emitted')}",
        )
        return self.written()

    def total(self, number: str) -> int:
        instances = self.engine.status(self.name)["instances"]
        return sum(each[number] for each in instances if each["component"] == "numbers")

    def resent(self) -> int:
        """More than 0 once the Stream Managers have sent frames again."""
        files = (self.engine.home / "topologies" / self.name / "metrics").glob("*.jsonl")
        samples = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return max((int(each["value"]) for each in samples if each["name"] == "resent"), default=0)

    def refused(self) -> int:
        """Frames and connections that the Topology Master and the first container did not want."""
        status = self.engine.status(self.name)
        return int(status["rejected"] + status["containers"][0]["rejected"])

    def kill(self) -> None:
        self.engine.ok("kill", self.name)
        assert self.engine.leftovers() == []


#: who does not reach whom any more
CUTS: dict[str, Callable[[str, str], list[tuple[str, str]]]] = {
    "one way, there": lambda first, second: [(first, second)],
    "one way, back": lambda first, second: [(second, first)],
    "both ways": lambda first, second: [(first, second), (second, first)],
}


def random_faults() -> list[tuple[str, float]]:
    """Every kind of cut for two to three seconds, and one for so long that connections are given up."""
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    faults = [(fault, dice.uniform(2, 3)) for fault in CUTS]
    faults.append((dice.choice(list(CUTS)), 7.0))
    dice.shuffle(faults)
    return faults


def test_at_most_once_loses_repeats_and_reorders_nothing(engine: Engine, network: Network) -> None:
    running = Running(engine, network, "LedgerTopology", {"metrics.sinks": "jsonl"})
    processes = running.processes()
    for fault, seconds in random_faults():
        running.suffer(fault, seconds)
        time.sleep(0.3)
        assert network.reset(network.machines[1]) > 0
        print(f"connections reset: new output after {running.flows(30):.2f} s")

    emitted = running.pause()
    wait_until(lambda: running.resent() > 0, 10, "frames that were lost and sent again")
    numbers: dict[int, list[int]] = defaultdict(list)
    for path in running.folder.glob("ledger-*"):
        last: dict[tuple[int, int], int] = {}
        for source, number, relay in running.entry.iter_unpack(path.read_bytes()):
            assert number > last.get((source, relay), -1), "out of order"
            last[source, relay] = number
            numbers[source].append(number)
    assert all(sorted(found) == list(range(len(found))) for found in numbers.values())
    assert sum(map(len, numbers.values())) == emitted
    assert running.processes() == processes, "a process was restarted"
    running.kill()


def test_at_least_once_needs_no_replay(engine: Engine, network: Network) -> None:
    longer_than_any_cut = {"topology.message.timeout.secs": "30"}
    running = Running(engine, network, "Replaying", longer_than_any_cut, ENDLESS, RATE)
    processes = running.processes()
    healed = [running.suffer(fault, seconds) for fault, seconds in random_faults()]
    print(f"median {statistics.median(healed):.2f} s")

    emitted = running.pause()
    assert Counter(number for number, _ in running.entries()) == Counter(range(emitted))
    wait_until(lambda: running.total("acked") == emitted, 30, "all acks")
    assert running.total("failed") == 0
    assert running.processes() == processes, "a process was restarted"
    running.kill()


@pytest.mark.parametrize("deaf", [False, True], ids=["hears the tree", "deaf"])
def test_a_container_that_is_cut_off_is_replaced_and_fenced(
    engine: Engine, network: Network, deaf: bool
) -> None:
    """A deaf one does not even learn from the state tree that it was replaced, until after the healing."""
    print(f"seed {SEED}")
    tuples, dice = 10 * RATE, random.Random(f"{deaf} {SEED}")
    running = Running(engine, network, "Replaying", {"container.lost": "5s"}, tuples, RATE)
    first = executors(engine)[2]
    zombie = [first, *first.children(recursive=True)]
    (manager,) = (each for each in zombie if name_of(each).startswith("stream-manager"))
    wait_until(lambda: running.written() > tuples * dice.uniform(0.05, 0.3), 60, "some progress")
    if deaf:
        stop_without_the_lock(engine, [first])
    network.isolate(network.machines[1])
    begun = time.monotonic()
    wait_until(running.is_still, 10, "an end of the flow")
    assert running.written() < tuples, "the cut must hit data in flight"
    running.flows(60)
    print(f"cut off: new output, from its successor, after {time.monotonic() - begun:.1f} s")
    assert alive(first) or not deaf, "the test must have a zombie"
    refused = running.refused()
    network.heal()
    if deaf:
        wait_until(
            lambda: running.refused() > refused or not alive(manager),
            30,
            "a Stream Manager that is refused, or reads in the state tree that it was replaced",
            engine.log_tails,
        )
        resume([first])
    wait_until(lambda: not any(map(alive, zombie)), 20, "the end of the zombie")

    wait_until(lambda: progress(running.folder)[0] == tuples, 90, "all acks", engine.log_tails)
    assert progress(running.folder)[1] > 0, "nothing was in flight"
    assert {number for number, _ in running.entries()} == set(range(tuples))
    running.kill()
