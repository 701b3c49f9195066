"""Settings, a state tree, and a check that no process outlives its test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine.processes import processes
from heronpy.kernel.plugin import Registry, StateManager
from heronpy.testing.waiting import eventually


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(environ={}, flags={"home": str(tmp_path), "kill.timeout": "3s"})


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    manager = Registry.load().state_manager("localfs")()
    manager.initialize(config)
    yield manager
    manager.close()


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Whatever a test started has its temporary folder in the command line."""
    yield
    eventually(lambda: not _using(tmp_path), 10)
    for launch_file in tmp_path.glob("topologies/*/launch.json"):
        shutil.rmtree(TopologyLaunch.read(launch_file).sockets, ignore_errors=True)


def _using(folder: Path) -> list[int]:
    mine = os.fsencode(folder)
    found = []
    for each in processes():
        try:
            command = Path(f"/proc/{each.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if mine in command and each.alive:
            found.append(each.pid)
    return found
