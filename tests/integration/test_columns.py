"""Columns in real processes: counted exactly, whoever is killed, and every value arrives as it was."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from support.column_values import VALUES
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

NAME = "ColumnLedger"
KEYS = 997


def ledger(folder: Path) -> dict[str, list[int]]:
    """Key → how many numbers it has had, and their sum."""
    found: dict[str, list[int]] = {}
    for path in folder.glob("ledger-*"):
        entries = json.loads(path.read_text())
        assert not entries.keys() & found.keys(), "a key has one owner"
        found.update(entries)
    return found


def submitted(folder: Path, counting: int) -> tuple[str, ...]:
    file = str(TOPOLOGIES / "column_ledger.py")
    return "submit", file, str(folder), str(counting), "--set", "checkpoint.interval=500ms"


def finish(watching: Watching, folder: Path) -> None:
    (folder / "enough").touch()
    wait_until(lambda: watching.status().state == "FINISHED", 90, "it is FINISHED", watching.detail)


def assert_all_are_counted(folder: Path, counting: int) -> None:
    """From the first number on, wherever this run began."""
    end = int((folder / "end").read_text())
    shares = [range(key, end, KEYS) for key in range(KEYS)]
    assert ledger(folder) == {
        f"key {key}": [2 * len(numbers), 2 * sum(numbers)] for key, numbers in enumerate(shares)
    }
    assert len(list(folder.glob("ledger-*"))) == counting


@pytest.mark.cluster
@pytest.mark.timeout(240)
def test_columns_are_counted_once_through_a_kill_and_a_rescaling(engine: Engine, tmp_path: Path) -> None:
    engine.ok(*submitted(tmp_path, 2))
    with Watching(engine, NAME) as watching:
        wait_until(lambda: watching.newest() > 0, 60, "a checkpoint", watching.detail)
        watching.kill("ledger[0]")
        newest = watching.newest()
        wait_until(lambda: watching.newest() > newest + 1, 60, "another checkpoint", watching.detail)
        engine.ok("update", NAME, "ledger=3")
        newest = watching.newest()
        wait_until(lambda: watching.newest() > newest, 60, "a checkpoint of the new plan", watching.detail)
        finish(watching, tmp_path)
    assert_all_are_counted(tmp_path, 3)
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


@pytest.mark.cluster
@pytest.mark.timeout(240)
def test_a_table_goes_on_in_another_topology_with_another_parallelism(engine: Engine, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    engine.ok(*submitted(first, 2))
    with Watching(engine, NAME) as watching:
        # the first may be empty
        wait_until(lambda: watching.newest() > 1, 60, "a checkpoint with counts", watching.detail)
    engine.ok("kill", NAME, "--keep-checkpoints")
    assert engine.leftovers() == []

    engine.ok(*submitted(second, 3), "--from", NAME)
    with Watching(engine, NAME) as watching:
        newest = watching.newest()
        wait_until(lambda: watching.newest() > newest + 1, 60, "more is counted", watching.detail)
        finish(watching, second)
    assert int((first / "began").read_text()) == 0
    assert 0 < int((second / "began").read_text()) < int((second / "end").read_text())
    assert_all_are_counted(second, 3)
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("containers", "fuse", "links"), [(3, "none", "unix"), (1, "none", "zmq"), (1, "container", "unix")]
)
def test_every_value_comes_as_it_was_as_rows_and_as_columns_to_any_neighbour(
    engine: Engine, tmp_path: Path, containers: int, fuse: str, links: str
) -> None:
    """In another container, behind another socket, and in the same process."""
    (tmp_path / "values").write_bytes(pickle.dumps(VALUES))
    chosen = ("--set", f"topology.fuse={fuse}", "--set", f"transport.local={links}")
    engine.ok("submit", str(TOPOLOGIES / "column_values.py"), str(tmp_path), str(containers), *chosen)
    with Watching(engine, "ColumnValues") as watching:
        assert len({one.container for one in watching.status().instances}) == containers
        wait_until(lambda: watching.status().state == "FINISHED", 60, "it is FINISHED", watching.detail)
    sent = {name: [*map(repr, values), repr(values[1])] for name, (_, values) in VALUES.items()}
    streams = {f"{form}_{name}": values for form in ("rows", "columns") for name, values in sent.items()}
    for reader in ("rows", "columns"):
        assert json.loads((tmp_path / f"seen-{reader}").read_text()) == streams, reader
    engine.ok("kill", "ColumnValues")
    assert engine.leftovers() == []
