"""A container, or the scheduler's process, on a machine that it was shipped to: before it runs, and after."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from heronpy.container.execution import is_current
from heronpy.container.executor.main import run_container, take_lifeline
from heronpy.container.processes.child import configure_logging
from heronpy.container.processes.zygote_client import ZygoteClient
from heronpy.container.scheduler import scheduler_host
from heronpy.kernel.config import Config
from heronpy.kernel.config.config import DEFAULT
from heronpy.kernel.errors import HeronError, PluginError, StateError
from heronpy.kernel.formats import SESSION
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine.private import make_private, private, require_private
from heronpy.kernel.machine.sessions import Session
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import import_used, open_state
from heronpy.kernel.plugin.scheduler import HOPELESS
from heronpy.kernel.tree.paths import Tree

log = logging.getLogger(__name__)

#: what a scheduler may set about the address of this machine
HOST = "_HERONPY_HOST"

#: seconds after which a folder without a lock holder counts as left by a killed container
STALE = 86400.0


class RemoteStart:
    """The topology's folder on this machine. Several containers may share it; the last one removes it."""

    def __init__(self, launch_file: Path, lock: int) -> None:
        self.launch_file = launch_file
        self.root = launch_file.parent
        self.launch = TopologyLaunch.read_or_exit(launch_file)
        self._lock = lock
        os.set_inheritable(lock, False)

    def write_output_to(self, name: str) -> None:
        """Redirect the output of this process to a log of the topology."""
        make_private(self.launch.logs)
        log_file = os.open(self.launch.logs / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for descriptor in (1, 2):
            os.dup2(log_file, descriptor)
        os.close(log_file)
        configure_logging(self.launch)

    def succeed(self, container: int) -> None:
        """End the processes that an earlier run of the container left on this machine, and take its place."""
        record = self.root / f"container-{container}.session"
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            SESSION.decode(record.read_bytes(), Session, str(record), any_format=True).kill(
                f"container {container}"
            )
        draft = record.with_suffix(f".{os.getpid()}")
        with open(draft, "wb", opener=private) as file:
            file.write(SESSION.encode(Session.of_this_process()))
        draft.replace(record)

    def take_address(self, state: StateManager) -> None:
        """Set the address at which peers find this machine, for all children, unless the user has set it."""
        config = self.launch.config
        if Config.from_plain(config).origin("transport.host") == DEFAULT:
            values = {**config["values"], "transport.host": os.environ.get(HOST) or state.own_address}
            self.launch = msgspec.structs.replace(self.launch, config={**config, "values": values})
            draft = self.launch_file.with_suffix(f".{os.getpid()}")
            with open(draft, "wb", opener=private) as file:
                file.write(self.launch.to_json())
            draft.replace(self.launch_file)

    def leave(self, state: StateManager) -> None:
        """Remove the folder if the topology is gone and no other container of it runs here."""
        try:
            leaving = state.exists(Tree(self.launch.topology).leaving)
            if not leaving and is_current(state, self.launch):
                return
        except StateError as error:
            log.warning("%s stays: %s", self.root, error)
            return
        remove_if_free(self.root, self._lock)


def remove_if_free(root: Path, lock: int) -> None:
    """Remove a topology's folder, unless another process holds its lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    shutil.rmtree(root, ignore_errors=True)


def sweep(own: Path) -> None:
    """Remove folders of other topologies whose containers were killed on this machine, long ago."""
    for root in own.parent.glob(f"heronpy-{os.getuid()}-*"):
        file = root / "lock"
        with contextlib.suppress(OSError):
            require_private(root)  # another account can make folders of such a name, too
            if root != own and file.exists() and time.time() - file.stat().st_mtime > STALE:
                lock = os.open(file, os.O_RDWR)
                try:
                    remove_if_free(root, lock)
                finally:
                    os.close(lock)


def main(argv: Sequence[str]) -> int:
    """Words: `container LAUNCH LOCK K [--lifeline]`, or `host LAUNCH LOCK`."""
    role, launch_file, lock, *words = argv
    remote_start = RemoteStart(Path(launch_file), int(lock))
    config = Config.from_plain(remote_start.launch.config)
    with contextlib.suppress(PermissionError):  # this process was started in a session of its own
        os.setsid()
    try:
        # each plugin that the settings name must have come along
        import_used(config)
        state = open_state(config)
    except PluginError as error:
        print(f"error: {os.uname().nodename}: {error}", file=sys.stderr)
        return HOPELESS
    except HeronError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    try:
        sweep(remote_start.root)
        remote_start.take_address(state)
        if role == "host":
            remote_start.write_output_to("scheduler")
            return scheduler_host.main([launch_file])
        return _contain(remote_start, state, int(words[0]), lifeline="--lifeline" in words)
    finally:
        remote_start.leave(state)
        state.close()


def _contain(remote_start: RemoteStart, state: StateManager, container: int, *, lifeline: bool) -> int:
    remote_start.succeed(container)
    line = take_lifeline() if lifeline else None
    remote_start.write_output_to(f"container-{container}")
    zygote_client = ZygoteClient(str(remote_start.launch_file), container)
    zygote_client.open()
    return run_container(str(remote_start.launch_file), container, state, zygote_client, lifeline=line)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
