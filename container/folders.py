"""Where a topology keeps its files on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import pwd
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import Keeper, TopologyLaunch
from heronpy.kernel.machine.durable import make_durable, sync
from heronpy.kernel.machine.private import (
    NotPrivate,
    keep_others_out,
    own_folder,
    private,
    require_all_ours,
    require_own_way,
    require_place,
    require_private,
    temporary_place,
)

log = logging.getLogger(__name__)

#: has a file for each account whose runtime folder systemd keeps when its last session ends
LINGERING = Path("/var/lib/systemd/linger")


def work_folder(config: Config, topology: str) -> Path:
    """Logs, metrics files, container records and the launch file."""
    folder = config.home / "topologies"
    with _refused():
        for each in (config.home, folder):
            keep_others_out(each)
        require_own_way(config.home, folder / topology)
    return folder / topology


def own_work_folder(config: Config, topology: str) -> Path:
    """The same before anything is written there: a UserError if another account has put something into it.

    It could while `home` was open to others, and logs and metrics would go wherever a link leads.
    """
    work = work_folder(config, topology)
    with _refused():
        require_all_ours(work)
    return work


@contextlib.contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except NotPrivate as error:
        raise UserError(str(error), hint="set `home` to a folder of your own, or remove that") from error


def launch_file(config: Config, topology: str) -> Path:
    return work_folder(config, topology) / "launch.json"


def sockets_link(work: Path) -> Path:
    """Leads to the sockets folder where the launch file is damaged."""
    return work / "sockets"


def create_launch(config: Config, topology: str, *, remote: bool = False, keeper: Keeper = "master") -> Path:
    """Make the folders of a new topology and its launch file, whose path is returned."""
    work = work_folder(config, topology)
    make_durable(work / "logs")
    plain = config.to_plain()
    launch = TopologyLaunch(topology, secrets.token_hex(6), plain, str(work), "", remote, keeper=keeper)
    path = launch_file(config, topology)
    if remote:
        _write_launch(path, launch)
    else:
        _make_sockets(path, launch)
    return path


def renew_sockets(path: Path) -> None:
    """Before containers start: another sockets folder if that of the topology is gone or not private.

    It is gone after a reboot, and by then another account may have made one of its name. Only the process
    that holds the topology's scheduler node may do this. A folder that is there and private stays: containers
    of the topology that are alive have their sockets in it.
    """
    launch = TopologyLaunch.read(path)
    if launch.remote:
        return
    try:
        require_private(Path(launch.sockets))
    except FileNotFoundError:
        pass
    except NotPrivate as error:
        log.warning("sockets get another folder: %s", error)
    else:
        return
    _make_sockets(path, launch)


def make_sockets_folder(launch: TopologyLaunch, container: int) -> None:
    """The folder of one container's sockets. A UserError if another account can access it."""
    try:
        for folder in (Path(launch.sockets), launch.container_sockets(container)):
            own_folder(folder)
    except NotPrivate as error:
        hint = f"heronpy kill {launch.topology}, and submit it again"
        msg = f"the sockets folder cannot be used: {error}"
        raise UserError(msg, hint=hint) from error


def _make_sockets(path: Path, launch: TopologyLaunch) -> None:
    """A folder with a name that cannot be guessed. The launch file and the link have it first, so that a kill
    finds it by either."""
    sockets = _sockets_place() / f"heronpy-{os.getuid()}-{secrets.token_hex(8)}"
    _write_launch(path, msgspec.structs.replace(launch, sockets=str(sockets)))
    link = sockets_link(path.parent)
    link.unlink(missing_ok=True)
    link.symlink_to(sockets)
    sockets.mkdir(mode=0o700)


def _write_launch(path: Path, launch: TopologyLaunch) -> None:
    """All of it or, on a full disk, nothing. Durable: the state tree is useless without it."""
    unfinished = path.with_suffix(".new")
    try:
        with open(unfinished, "wb", opener=private) as file:
            file.write(launch.to_json())
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        sync(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _sockets_place() -> Path:
    """The account's runtime folder, or else the system's temporary one."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    try:
        if os.path.isabs(runtime) and _outlives_sessions(runtime):
            require_private(Path(runtime))
            require_place(Path(runtime))
            return Path(runtime)
    except (NotPrivate, FileNotFoundError) as error:
        log.info("sockets are not in XDG_RUNTIME_DIR: %s", error)
    try:
        return temporary_place()
    except NotPrivate as error:
        hint = "set TMPDIR to a folder of your own with a short path and mode 0700"
        msg = f"no safe folder for sockets: {error}"
        raise UserError(msg, hint=hint) from error


def _outlives_sessions(runtime: str) -> bool:
    """Not what systemd removes when the account logs out: a topology goes on without a login."""
    if os.path.realpath(runtime) != f"/run/user/{os.getuid()}":
        return True
    try:
        return (LINGERING / pwd.getpwuid(os.getuid()).pw_name).exists()
    except KeyError:
        return False
