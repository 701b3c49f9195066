"""One node of the state tree after the other is damaged, and a process dies: every row comes once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.faults.damage import DISK_DAMAGES, damage_node, value_file
from support.running.engine import TOPOLOGIES, Engine, end_all, wait_until
from support.running.watching import Watching

from heronpy.cli.reading.topologies import open_state
from heronpy.kernel.config import load_config
from heronpy.kernel.master.damaged_nodes.decide import REBUILT
from heronpy.kernel.tree.damage import damaged_nodes

NAME = "Exact"
#: `make chaos` damages every node in every way, with every process dying
CHAOS = "CHAOS_KILLS" in os.environ
#: more than twenty in so many seconds can be while cells are gone through
NUMBERS = 300_000 if CHAOS else 20_000
REST = 0.1


class Cell(NamedTuple):
    """A node, what happens to it, and who dies next."""

    node: str
    kind: str
    victim: str


#: every node with the truth, and one of each report; every kind of process
CELLS = (
    Cell("checkpoints", "cut in half", "topology-master"),
    Cell("execution", "emptied", "executor"),
    Cell("physical_plan", "one bit flipped", "topology-master"),
    Cell("definition", "one bit flipped", "executor"),
    Cell("packing_plan", "emptied", "scheduler"),
    Cell("live", "cut in half", "stream-manager"),
    Cell("live", "emptied", "topology-master"),
    Cell("containers/1/executor", "emptied", "executor"),
    Cell("containers/1/stream_manager", "one bit flipped", "numbers[0]"),
    Cell("containers/2/pulse", "cut in half", "count[0]"),
    Cell("scheduler", "emptied", "scheduler"),
)

#: … and in `make chaos` all of them with each other
NODES = tuple(dict.fromkeys(cell.node for cell in CELLS))
VICTIMS = ("topology-master", "executor", "stream-manager", "numbers[0]", "count[0]", "scheduler")


def cells() -> Iterator[Cell]:
    if not CHAOS:
        yield from CELLS
        return
    for node in NODES:
        for kind in DISK_DAMAGES:
            for victim in VICTIMS:
                yield Cell(node, kind, victim)


def written(folder: Path) -> list[int]:
    """All that was committed, sorted."""
    return sorted(int(line) for path in folder.glob("lines-*") for line in path.read_text().split())


def lines(engine: Engine) -> list[str]:
    """What `status` says of damage."""
    with open_state(load_config(environ=engine.environment)) as state:
        return damaged_nodes(state, NAME)


def suffer(engine: Engine, watching: Watching, cell: Cell) -> str:
    """Damage, see its line, kill, and see that all is mended and another checkpoint complete."""
    before = watching.newest()
    begun = time.monotonic()
    seen: list[str] = []
    if cell.victim == "topology-master":  # it must not mend what its successor is to find
        watching.processes(cell.victim)[0].suspend()
    while not seen:  # its owner may have mended it before it was seen
        damage_node(engine.home, f"/{NAME}/{cell.node}", cell.kind)
        seen = lines(engine)
    (line,) = seen
    watching.kill(cell.victim)

    def goes_on() -> bool:
        if not value_file(engine.home, f"/{NAME}/{cell.node}").exists():
            return False  # an ephemeral node whose owner is being replaced
        return not lines(engine) and watching.status().state == "RUNNING" and watching.newest() > before

    wait_until(goes_on, 90, f"{cell}: mended, and saved again", engine.log_tails)
    if (cell.node, cell.victim) == ("checkpoints", "topology-master"):
        assert watching.checkpoints().went_back[-1].because == REBUILT
    return f"| {cell.node} | {cell.kind} | {cell.victim} | {line} | {time.monotonic() - begun:.1f} s |"


def damage_newest(engine: Engine, watching: Watching) -> tuple[Path, bytes]:
    """Make the newest checkpoint unreadable while no other can be complete: when somebody is dead."""
    for _ in range(10):
        run = watching.checkpoints().run
        watching.kill("count[0]")
        manifest = watching.checkpoints().complete[-1].manifest
        file = engine.home / "checkpoints" / manifest
        whole = file.read_bytes()
        file.write_bytes(b"{}")

        def stands_or_went_on(before: int = run) -> bool:
            return bool(undecided(watching)) or watching.checkpoints().run > before

        wait_until(stands_or_went_on, 60, "a restore was tried", engine.log_tails)
        if undecided(watching):
            return file, whole
    msg = "another checkpoint was complete each time"
    raise AssertionError(msg)


def undecided(watching: Watching) -> str:
    checkpoints = watching.status().checkpoints
    return checkpoints.undecided if checkpoints is not None else ""


def check_standing_still(engine: Engine, watching: Watching) -> None:
    """What is committed is not repeated: it goes on when the object is back, or when that is accepted."""
    before = watching.checkpoints().went_back
    file, whole = damage_newest(engine, watching)
    newest, older = (ref.id for ref in reversed(watching.checkpoints().complete[-2:]))
    told = engine.ok("status", NAME)
    assert f"{NAME}  DEGRADED" in told
    assert f"heronpy checkpoints {NAME} --restore {older} --accept-repeats" in told
    what = f"repeats 1 transaction committed with checkpoint {newest}"
    assert what in engine.fails("checkpoints", NAME, "--restore", str(older))
    file.write_bytes(whole)
    wait_until(lambda: watching.newest() > newest, 60, "it goes on by itself", engine.log_tails)
    assert watching.checkpoints().went_back == before

    file, _ = damage_newest(engine, watching)
    newest, older = (ref.id for ref in reversed(watching.checkpoints().complete[-2:]))
    told = engine.ok("checkpoints", NAME, "--restore", str(older), "--accept-repeats")
    what = f"repeats 1 transaction committed with checkpoint {newest}"
    assert told == f"{NAME} goes back to checkpoint {older} and {what}\n"
    wait_until(lambda: watching.newest() > newest, 60, "it goes on", engine.log_tails)
    assert f"went back to checkpoint {older}: " in engine.ok("status", NAME)
    assert f"went back to checkpoint {older} " in engine.run("checkpoints", NAME).stderr


@pytest.mark.cluster
@pytest.mark.timeout(1500 if CHAOS else 300)
def test_no_damaged_node_loses_or_repeats_a_row_whoever_dies_next(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    # who is killed again and again is not to be waited for longer each time
    settings = ("checkpoint.interval=500ms", "container.restart_delay_max=1s", "container.restart_attempts=0")
    flags = [word for setting in settings for word in ("--set", setting)]
    engine.ok("submit", str(TOPOLOGIES / "exact.py"), str(NUMBERS), str(folder), str(REST), *flags)
    wait_until(lambda: written(folder) != [], 60, "a checkpoint is complete", engine.log_tails)
    print("\n| node | damage | who dies | status | until all is well |\n|---|---|---|---|---|")
    with Watching(engine, NAME) as watching:
        for cell in cells():
            print(suffer(engine, watching, cell), flush=True)
    assert 0 < len(written(folder)) < NUMBERS
    (folder / "hurry").touch()
    wait_until(lambda: len(written(folder)) >= NUMBERS, 150, "all are written", engine.log_tails)
    assert written(folder) == list(range(NUMBERS))
    with Watching(engine, NAME) as watching:
        check_standing_still(engine, watching)
    assert written(folder) == list(range(NUMBERS)), "the repeated transaction was an empty one"
    # whatever is damaged, and nobody left who would mend it
    for node in NODES:
        if value_file(engine.home, f"/{NAME}/{node}").exists():
            damage_node(engine.home, f"/{NAME}/{node}", "one bit flipped")
    assert NAME in engine.ok("list")
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


@pytest.mark.cluster
def test_torn_nodes_without_an_owner_do_not_keep_a_topology_from_starting_again(engine: Engine) -> None:
    """A power cut may leave an ephemeral node's file without its bytes, and nothing of its session."""
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "torn")
    end_all(engine)
    for node in ("scheduler", "master", "containers/1/pulse"):
        # a process that ended last may have removed the node of one that ended before
        file = engine.home / "state/torn" / node / "@owned"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"")
    for session in (engine.home / "state/@sessions").iterdir():
        session.unlink()

    started = engine.run("status", "torn")

    assert "the scheduler and the master of torn were gone and are started again" in started.stderr
    assert "damaged" not in started.stdout
    wait_until(lambda: engine.status("torn")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    engine.ok("kill", "torn")
    assert engine.leftovers() == []
