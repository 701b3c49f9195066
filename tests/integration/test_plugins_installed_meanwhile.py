"""A plugin is installed while a topology runs: sound or broken, it is not in the way of anything else."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.schedulers.plugin_package import SITE, example_source, install

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

NAME = "Resumed"


@pytest.fixture
def site(tmp_path: Path, engine: Engine) -> Path:
    """As good as the site-packages of every process that the engine starts."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITE)
    engine.environment["PYTHONPATH"] = str(folder)
    return folder


@pytest.fixture
def saved(engine: Engine, site: Path, tmp_path: Path) -> Engine:
    """A topology runs that has a checkpoint, so that a kill needs the checkpoint store."""
    engine.ok("submit", str(TOPOLOGIES / "resumed.py"), "100000", "2", str(tmp_path))
    engine.ok("checkpoints", NAME, "--take")
    return engine


def test_kill_after_an_editable_install_of_a_sound_plugin(saved: Engine, site: Path, tmp_path: Path) -> None:
    install(example_source("heronpy-nice-scheduler", tmp_path), site, editable=True)
    assert "heronpy-nice-scheduler" in saved.ok("plugins")
    assert saved.ok("kill", NAME).startswith(f"{NAME} is gone, and its 1 checkpoint (")
    assert saved.leftovers() == []


def test_processes_of_a_topology_start_again_after_an_editable_install(
    saved: Engine, site: Path, tmp_path: Path
) -> None:
    install(example_source("heronpy-nice-scheduler", tmp_path), site, editable=True)
    first = {each.name(): each for each in saved.processes()}["metrics-manager"]
    first.send_signal(signal.SIGKILL)
    wait_until(lambda: _runs_again(saved, first.pid), 30, "the Metrics Manager runs again", saved.log_tails)
    assert "heronpy_nice_scheduler" not in saved.log_tails()
    saved.ok("kill", NAME)
    assert saved.leftovers() == []


def test_a_broken_plugin_is_named_and_left_out(saved: Engine, site: Path) -> None:
    (site / "broken-1.2.dist-info").mkdir()
    (site / "broken-1.2.dist-info" / "METADATA").write_text("Name: broken\nVersion: 1.2\n")
    (site / "broken-1.2.dist-info" / "entry_points.txt").write_text("[heronpy]\nbroken = broken_plugin\n")
    why = "broken 1.2 cannot be used and is left out: No module named 'broken_plugin'"
    looked = saved.run("status", NAME)
    assert (looked.returncode, looked.stderr) == (0, f"the plugin {why}\n")
    refused = saved.fails("submit", str(TOPOLOGIES / "resumed.py"), "9", "1", ".", "--scheduler", "brokn")
    assert "no scheduler plugin named 'brokn'" in refused
    assert "left out: broken 1.2 cannot be used: No module named 'broken_plugin')" in refused
    assert saved.run("kill", NAME).returncode == 0
    assert saved.leftovers() == []


def _runs_again(engine: Engine, before: int) -> bool:
    names: dict[str, psutil.Process] = {each.name(): each for each in engine.processes() if each.is_running()}
    now = names.get("metrics-manager")
    return now is not None and now.pid != before and os.getpgid(now.pid) == now.pid
