"""Whatever goes wrong is one line that says what to try, and nothing of it stays."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.faults.small_disk import small_disk as small_disk_of
from support.running.engine import TOPOLOGIES, Engine, wait_until

BROKEN = TOPOLOGIES / "broken.py"
TRICKLE = TOPOLOGIES / "trickle.py"


def line_of(text: str) -> int:
    """Where in the broken topology something stands."""
    return next(n for n, line in enumerate(BROKEN.read_text().splitlines(), 1) if text in line)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("how", "cause", "where"),
    [
        ("raise", "ValueError: no such table", 'raise ValueError("no such table")'),
        ("import", "No module named 'a_module_that_is_not_there'", "import a_module_that_is_not_there"),
        ("exit", "called sys.exit('I give up')", 'sys.exit("I give up")'),
    ],
)
def test_a_failing_initialize_points_at_the_users_line(
    engine: Engine, how: str, cause: str, where: str
) -> None:
    told = engine.fails("submit", str(BROKEN), how)

    error = last_line(told)
    assert error.startswith("error: topology 'BrokenTopology' did not start: broken[0] failed:")
    assert cause in error
    assert f"broken.py:{line_of(where)} in initialize" in error
    assert "heronpy/instances" not in told, "the engine's own frames are not the user's business"
    assert [process.pid for process in engine.processes()] == []


@pytest.mark.cluster
def test_a_failure_while_running_is_in_status_with_its_line_and_prints_are_in_the_log(engine: Engine) -> None:
    engine.ok("submit", str(BROKEN), "process", "--no-wait")

    def failed() -> bool:
        return any("vlaue" in instance["error"] for instance in engine.status("BrokenTopology")["instances"])

    wait_until(failed, 30, "the failure in status", engine.log_tails)
    broken = next(i for i in engine.status("BrokenTopology")["instances"] if i["component"] == "broken")
    assert "did you mean 'value'?" in broken["error"]
    assert f"broken.py:{line_of('tup.vlaue')} in process" in broken["error"]
    assert "a print of the user's" in engine.ok("logs", "BrokenTopology", "source")
    engine.ok("kill", "BrokenTopology")
    assert engine.leftovers() == []


@pytest.mark.cluster
def test_names_that_exist_and_names_that_do_not(engine: Engine) -> None:
    engine.ok("submit", str(TRICKLE), "steady")

    again = engine.fails("submit", str(TRICKLE), "steady")
    assert (
        last_line(again)
        == "error: topology 'steady' exists already (try: heronpy kill steady, or submit with --name OTHER)"
    )
    unknown = engine.fails("kill", "staedy")
    assert "no topology named 'staedy'; did you mean 'steady'?" in unknown
    assert "did you mean" in engine.fails("submit", str(TRICKLE), "x", "--pakcing", "binpack", code=2)
    assert "no packing plugin named 'binpak'; did you mean 'binpack'?" in engine.fails(
        "submit", str(TRICKLE), "x", "--packing", "binpak"
    )
    assert engine.status("steady")["state"] == "RUNNING", "none of it touched the one that runs"
    engine.ok("kill", "steady")
    assert engine.leftovers() == []


@pytest.mark.cluster
def test_a_port_in_use_is_named(engine: Engine) -> None:
    # not where every client on this machine has its end, or the port before it may be in use as well
    host = "127.0.0.2"
    with socket.create_server((host, 0)) as taken:
        port = taken.getsockname()[1]
        settings = ("--set", f"transport.host={host}", "--set", f"transport.port={port - 1}")
        told = engine.fails("submit", str(TRICKLE), "ports", *settings)
    assert f"cannot listen on tcp://{host}:{port}: Address already in use" in last_line(told)
    assert "another transport.host or transport.port" in last_line(told)
    assert [process.pid for process in engine.processes()] == []


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk with room for almost nothing."""
    with small_disk_of(64) as disk:
        yield disk


@pytest.mark.cluster
def test_a_full_disk_under_the_state_folder(engine: Engine, small_disk: Path) -> None:
    home = small_disk / "home"
    engine.run("list", HERONPY_HOME=str(home))
    (small_disk / "filler").write_bytes(b"x" * (52 << 10))
    told = engine.fails("submit", str(TRICKLE), "full", HERONPY_HOME=str(home))
    assert "No space left on device" in last_line(told)
    assert "try: " in last_line(told)
    assert engine.ok("list", "-o", "json", HERONPY_HOME=str(home)) == "[]\n"
