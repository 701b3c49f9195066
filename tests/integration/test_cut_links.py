"""Two containers on two machines whose network is cut: one way, both ways, for seconds and for too long."""

from __future__ import annotations

import random
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from support.engine import TOPOLOGIES, Engine, wait_until
from support.machines import install
from support.namespaces import Network

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

#: more than is ever emitted: spouts run at full speed until they are paused
ENDLESS = 1 << 31


@pytest.fixture
def network() -> Iterator[Network]:
    with Network(3) as made:
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

    def __init__(self, engine: Engine, network: Network, name: str, file: str, entry: str) -> None:
        self.engine = engine
        self.network = network
        self.name = name
        self.folder = engine.home.parent
        self.entry = struct.Struct(entry)
        machines = ",".join(network.machines)
        settings = {"plugins.machines.names": machines, "transport.host": network.subnet}
        settings |= {"topology.stmgrs": "2", "topology.message.timeout.secs": "20"}
        flags = [flag for key, value in settings.items() for flag in ("--set", f"{key}={value}")]
        topology = (str(TOPOLOGIES / file), str(ENDLESS), str(self.folder))
        engine.ok("submit", *topology, "--scheduler", "machines", *flags)
        self.flows(60)

    def written(self) -> int:
        """Entries in all ledgers."""
        return sum(path.stat().st_size for path in self.folder.glob("ledger-*")) // self.entry.size

    def entries(self) -> list[tuple[int, ...]]:
        found = [path.read_bytes() for path in sorted(self.folder.glob("ledger-*"))]
        return [entry for data in found for entry in self.entry.iter_unpack(data)]

    def flows(self, seconds: float) -> float:
        """Wait until new entries come; how long that took."""
        begun, before = time.monotonic(), self.written()
        wait_until(lambda: self.written() > before + 1000, seconds, "new output", self.engine.log_tails)
        return time.monotonic() - begun

    def processes(self) -> set[psutil.Process]:
        return {each for each in self.engine.processes() if "submit" not in each.cmdline()}

    def suffer(self, fault: str, seconds: float) -> None:
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
        print(f"{fault} for {lasted:.1f} s: new output {self.flows(30):.2f} s after healing")

    def is_still(self) -> bool:
        """Whether half a second brings nothing new: what was beyond the cut has been worked off."""
        before = self.written()
        time.sleep(0.5)
        return self.written() == before

    def pause(self) -> int:
        """Stop the spouts and wait until all that they have emitted is in the ledger; how many that was."""
        self.engine.ok("deactivate", self.name)
        emitted = 0

        def complete() -> bool:
            nonlocal emitted
            before, emitted = emitted, self.total("emitted")
            return emitted == before and self.written() >= emitted

        wait_until(complete, 60, "a complete ledger", lambda: f"{self.written()} of {emitted}")
        return emitted

    def total(self, number: str) -> int:
        instances = self.engine.status(self.name)["instances"]
        return sum(each[number] for each in instances if each["component"] == "numbers")

    def kill(self) -> None:
        self.engine.ok("kill", self.name)
        assert self.engine.leftovers() == []


#: who does not reach whom any more
CUTS: dict[str, Callable[[str, str], list[tuple[str, str]]]] = {
    "one way, there": lambda first, second: [(first, second)],
    "one way, back": lambda first, second: [(second, first)],
    "both ways": lambda first, second: [(first, second), (second, first)],
}


def random_faults(seed: int) -> list[tuple[str, float]]:
    """Every kind of cut for two to three seconds, and one for so long that connections are given up."""
    print(f"seed {seed}")
    dice = random.Random(seed)
    faults = [(fault, dice.uniform(2, 3)) for fault in CUTS]
    faults.append((dice.choice(list(CUTS)), 7.0))
    dice.shuffle(faults)
    return faults


@pytest.mark.parametrize("seed", [1, 2])
def test_at_most_once_loses_repeats_and_reorders_nothing(engine: Engine, network: Network, seed: int) -> None:
    running = Running(engine, network, "LedgerTopology", "ledger.py", "<III")
    processes = running.processes()
    for fault, seconds in random_faults(seed):
        running.suffer(fault, seconds)
        assert network.reset(network.machines[1]) > 0
        print(f"connections reset: new output after {running.flows(30):.2f} s")

    emitted = running.pause()
    entries = running.entries()
    arrived = Counter((source, number) for source, number, _ in entries)
    sources = Counter(source for source, _ in arrived)
    assert len(entries) == emitted
    assert set(arrived) == {(source, number) for source, count in sources.items() for number in range(count)}
    for path in running.folder.glob("ledger-*"):
        ledger = list(running.entry.iter_unpack(path.read_bytes()))
        for channel in {(source, relay) for source, _, relay in ledger}:
            numbers = [number for source, number, relay in ledger if (source, relay) == channel]
            assert all(earlier < later for earlier, later in pairwise(numbers))
    assert running.processes() == processes, "a process was restarted"
    running.kill()


@pytest.mark.parametrize("seed", [1, 2])
def test_at_least_once_needs_no_replay(engine: Engine, network: Network, seed: int) -> None:
    running = Running(engine, network, "Replaying", "replaying.py", "<II")
    processes = running.processes()
    for fault, seconds in random_faults(seed):
        running.suffer(fault, seconds)

    emitted = running.pause()
    assert Counter(number for number, _ in running.entries()) == Counter(range(emitted))
    wait_until(lambda: running.total("acked") == emitted, 30, "all acks")
    assert running.total("failed") == 0
    assert running.processes() == processes, "a process was restarted"
    running.kill()
