"""A running topology whose launch file is damaged: its logs can be read, and a kill leaves nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.faults.damage import DAMAGES, damage
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.fleet import words

from heronpy.kernel.launch import TopologyLaunch

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

TRICKLE = (str(TOPOLOGIES / "trickle.py"), "t")


def hosts(engine: Engine) -> list[int]:
    module = "heronpy.container.scheduler.scheduler_host"
    return [process.pid for process in engine.processes() if module in words(process)]


def submitted(engine: Engine) -> Path:
    engine.ok("submit", *TRICKLE)
    return engine.home / "topologies" / "t" / "launch.json"


def check_logs_and_kill(engine: Engine, file: Path, sockets: Path) -> None:
    logs = engine.run("logs", "t")
    assert logs.returncode == 0, logs.stderr
    assert "topology-master | " in logs.stdout
    killed = engine.run("kill", "t")
    assert (killed.returncode, killed.stdout) == (0, "t is gone\n"), killed.stderr
    for told in (logs.stderr, killed.stderr):
        assert told.startswith(f"the launch file {file} is damaged: ")
        assert "Traceback" not in told
    assert engine.leftovers() == []
    assert not sockets.exists()


def test_the_schedulers_process_ends_a_topology_as_if_nothing_were_damaged(engine: Engine) -> None:
    file = submitted(engine)
    sockets = Path(TopologyLaunch.read(file).sockets)
    damage(file, "cut in half")
    check_logs_and_kill(engine, file, sockets)


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_kill_finds_every_process_without_it_and_without_the_schedulers(engine: Engine, kind: str) -> None:
    file = submitted(engine)
    sockets = Path(TopologyLaunch.read(file).sockets)
    damage(file, kind)
    (host,) = hosts(engine)
    os.kill(host, signal.SIGKILL)
    # container 0 starts another one, which cannot begin without the file
    log = file.parent / "logs" / "scheduler.log"
    wait_until(lambda: "is damaged: " in log.read_text(), 30, "the damage is named", engine.log_tails)
    assert "Traceback" not in log.read_text()
    wait_until(lambda: hosts(engine) == [], 30, "the scheduler's process gives up", engine.log_tails)
    check_logs_and_kill(engine, file, sockets)


def test_a_container_that_cannot_begin_without_it_says_so_in_one_line(engine: Engine) -> None:
    file = submitted(engine)
    sockets = Path(TopologyLaunch.read(file).sockets)
    damage(file, "another path")
    (victim,) = (each for each in engine.processes() if words(each)[-2:] == [str(file), "1"])
    victim.kill()
    log = file.parent / "logs" / "container-1.log"
    named = f"error: the launch file {file} is damaged: its checksum differs"
    wait_until(lambda: named in log.read_text(), 30, "the damage is named", engine.log_tails)
    assert "Traceback" not in log.read_text()
    check_logs_and_kill(engine, file, sockets)
