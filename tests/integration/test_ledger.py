"""A million numbered tuples over three containers: every one arrives once, and in order on its channel."""

from __future__ import annotations

import struct
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

ENTRY = struct.Struct("<III")
SPOUTS = 2


def entries(folder: Path) -> dict[str, list[tuple[int, int, int]]]:
    return {path.name: list(ENTRY.iter_unpack(path.read_bytes())) for path in folder.glob("ledger-*")}


def written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("ledger-*")) // ENTRY.size


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_a_million_tuples_arrive_exactly_once_and_in_order(engine: Engine, tmp_path: Path) -> None:
    total = 1_000_000
    # a handshake that runs out of time on a busy machine is begun again, and counted
    patient = ("--set", "transport.handshake=30s")
    engine.ok("submit", str(TOPOLOGIES / "ledger.py"), str(total // SPOUTS), str(tmp_path), *patient)

    wait_until(lambda: written(tmp_path) >= total, 200, "all tuples", lambda: f"{written(tmp_path)} came")
    ledgers = entries(tmp_path)
    arrived = Counter((source, number) for ledger in ledgers.values() for source, number, _ in ledger)
    assert len(ledgers) == 2
    assert sorted(arrived) == [
        (s, n) for s in sorted({s for s, _ in arrived}) for n in range(total // SPOUTS)
    ]
    assert set(arrived.values()) == {1}
    for ledger in ledgers.values():
        for channel in {(source, relay) for source, _, relay in ledger}:
            numbers = [number for source, number, relay in ledger if (source, relay) == channel]
            assert all(earlier < later for earlier, later in pairwise(numbers))

    def emitted() -> int:
        instances = engine.status("LedgerTopology")["instances"]
        return sum(one["emitted"] for one in instances if one["component"] == "numbers")

    wait_until(lambda: emitted() >= total, 10, "a report of the last tuples")
    assert emitted() == total
    status = engine.status("LedgerTopology")
    assert [c["dropped"] + c["rejected"] for c in status["containers"]] == [0, 0, 0]
    engine.ok("kill", "LedgerTopology")
    assert engine.leftovers() == []
