"""The logs of a topology, wherever its containers run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click
from typing_extensions import override

from heronpy.cli.reading.log_tail import LogFolder, Logs
from heronpy.cli.reading.topologies import log_folder, open_state, require
from heronpy.container.folders import launch_file
from heronpy.container.launch_facts import launch_of
from heronpy.kernel.config import Config
from heronpy.kernel.errors import OtherFormat
from heronpy.kernel.launch import LaunchDamaged, TopologyLaunch
from heronpy.kernel.logs.log_client import LogClient
from heronpy.kernel.logs.log_rotation import SUFFIX
from heronpy.kernel.logs.log_server import MOST
from heronpy.kernel.machine.private import make_private, private
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree

#: most bytes of a log that are brought here; of a longer one it is the end
KEPT = 16 * 1024 * 1024


@contextlib.contextmanager
def open_logs(config: Config, name: str) -> Iterator[Logs]:
    """From a folder here if there is one, also one left by kill --keep-logs; else from the containers."""
    if are_here(config, name):
        yield LogFolder(log_folder(config, name))
        return
    with open_state(config) as state, LogClient(state, require(state, name)) as client:
        yield AskedLogs(client, state, name, log_folder(config, name))


def fetch_logs(config: Config, state: StateManager, name: str) -> None:
    """Copy logs from other machines to this one, before the topology is gone from there."""
    if are_here(config, name) or not state.exists(Tree(name).execution):
        return
    folder = log_folder(config, name)
    with LogClient(state, name) as client:
        for log, extent in client.extents().items():
            make_private(folder)
            with open(folder / f"{log}{SUFFIX}", "wb", opener=private) as file:
                for offset in range(max(extent.start, extent.stop - KEPT), extent.stop, MOST):
                    file.write(client.read(log, offset, min(MOST, extent.stop - offset)))


def are_here(config: Config, name: str) -> bool:
    """Whether its logs are written to a folder of this machine."""
    try:
        return not TopologyLaunch.read(launch_file(config, name)).remote
    except FileNotFoundError:
        return log_folder(config, name).is_dir()
    except (LaunchDamaged, OtherFormat):
        with open_state(config) as state:
            launch = launch_of(config, state, name)
            return launch is not None and not launch.remote


class AskedLogs(Logs):
    """Logs of containers on other machines; a container that does not answer is named once."""

    def __init__(self, client: LogClient, state: StateManager, topology: str, folder: Path) -> None:
        self._client = client
        self._state = state
        self._topology = topology
        #: where the scheduler's own log is, on the machine that it runs on
        self._here = LogFolder(folder)
        self._missed: set[int] = set()

    @override
    def extents(self) -> dict[str, range]:
        found = self._client.extents()
        for container in sorted({*self._client.silent} - self._missed):
            click.echo(f"container {container} does not answer: its logs may be missing", err=True)
        self._missed = {*self._client.silent}
        self._asked = found.keys()
        return {**self._here.extents(), **found}

    @override
    def read(self, name: str, offset: int, most: int) -> bytes:
        source = self._client if name in self._asked else self._here
        return source.read(name, offset, most)

    @override
    def grow(self) -> bool:
        return self._state.exists(Tree(self._topology).execution)
