"""The `__main__` of a package: prepares a machine that has only a bare Python to run containers.

`python heronpy.pyz container launch.json K [--lifeline]`, or `python heronpy.pyz host launch.json`.
Nothing but the standard library is there yet, and heronpy/kernel/machine/private.py in the package itself.
"""

import fcntl
import hashlib
import json
import os
import shutil
import stat
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from heronpy.kernel.machine.private import NotPrivate, make_private, own_folder, private, temporary_place

#: of the launch file as it travels, see kernel/formats.py
FORMAT = 1

#: exit status of an error that a restart cannot fix
HOPELESS = 78


class Refused(Exception):
    """This machine, or the package, cannot run the container."""


def main(argv: list[str]) -> NoReturn:
    """Unpack this file, write this machine's own launch file, and become the container."""
    role, launch_file, *words = argv
    try:
        parcel = json.loads(Path(launch_file).read_bytes())
        _check_format(parcel)
        _check_machine(parcel)
        package = Path(sys.argv[0])
        _check_sum(package, parcel["sha256"])
        root = _root(parcel["launch"]["execution"])
        lock = _hold(root)
        folder = _unpacked(package, root, parcel["sha256"])
        who = words[0] if role == "container" else role
        launch = _own_launch(parcel, root, folder, who)
    except NotPrivate as error:
        print(f"error: {error} (try: remove it, or set TMPDIR to a folder of your own)", file=sys.stderr)
        sys.exit(HOPELESS)
    except Refused as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(HOPELESS)
    except OSError as error:
        # a full disk: another machine may have room, or this one later
        print(f"error: cannot unpack what the container needs: {error}", file=sys.stderr)
        sys.exit(1)
    os.set_inheritable(lock, True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = str(folder / "site")
    command = [
        sys.executable,
        "-P",
        "-m",
        "heronpy.container.remote.remote_start",
        role,
        str(launch),
        str(lock),
        *words,
    ]
    os.execve(sys.executable, command, environment)


def _check_format(parcel: dict[str, Any]) -> None:
    found = parcel.get("format", 1)
    if found != FORMAT:
        msg = (
            f"the launch file was written in format {found} by heronpy {parcel.get('heronpy', '')};"
            f" what came with it reads format {FORMAT} (try: submit again)"
        )
        raise Refused(msg)


def _check_machine(parcel: dict[str, Any]) -> None:
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    wanted, here = (parcel["python"], parcel["platform"]), (python, sysconfig.get_platform())
    if wanted != here:
        msg = (
            f"the topology was submitted with Python {wanted[0]} on {wanted[1]}, and {sys.executable} on"
            f" {os.uname().nodename} is Python {here[0]} on {here[1]}"
            f" (try: --set container.python=python{wanted[0]})"
        )
        raise Refused(msg)


def _check_sum(package: Path, expected: str) -> None:
    with package.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        msg = f"{package} is damaged: its checksum is {found[:12]}…, not {expected[:12]}… (try: submit again)"
        raise Refused(msg)


def _root(execution: str) -> Path:
    """The topology's folder on this machine; its path is short, because sockets lie in it.

    Containers of the topology share it, so all of them must know its name; it is checked each time.
    """
    return temporary_place() / f"heronpy-{os.getuid()}-{execution}"


def _hold(root: Path) -> int:
    """As long as a process holds this lock, the folder is not removed."""
    while True:
        try:
            own_folder(root)
            lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue  # the container that ended last has just removed it
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            if os.fstat(lock).st_ino == (root / "lock").stat().st_ino:
                return lock
        except FileNotFoundError:
            pass
        # the container that ended last removed it between the two checks
        os.close(lock)


def _unpacked(package: Path, root: Path, checksum: str) -> Path:
    folder = root / f"package-{checksum[:16]}"
    if not folder.exists():
        unfinished = Path(tempfile.mkdtemp(prefix="unpacking-", dir=root))
        try:
            _unpack(package, unfinished)
            unfinished.rename(folder)
        except OSError:
            # another container of this machine was faster
            if not folder.exists():
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _unpack(package: Path, folder: Path) -> None:
    """Only plain files, and only below the folder, whatever the archive says."""
    with zipfile.ZipFile(package) as archive:
        for info in archive.infolist():
            name = PurePosixPath(info.filename)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if (
                name.is_absolute()
                or ".." in name.parts
                or "\\" in info.filename
                or kind not in (0, stat.S_IFREG)
            ):
                msg = f"{package} holds {info.filename!r}, which is not a plain file below its folder"
                raise Refused(msg)
            target = folder / name
            make_private(target.parent)
            with archive.open(info) as source, open(target, "xb", opener=private) as copy:
                shutil.copyfileobj(source, copy)


def _own_launch(parcel: dict[str, Any], root: Path, folder: Path, who: str) -> Path:
    """What was written where the topology was submitted, with the paths of this machine."""
    launch = parcel["launch"]
    values = launch["config"]["values"]
    for setting, name in parcel["secrets"].items():
        values[setting] = str(_kept(Path(name), root / f"secrets-{who}"))
    values["home"] = str(root)
    launch.update(work=str(root / "work"), sockets=str(root / "sockets"), package=str(folder))
    path = root / f"launch-{who}.json"
    draft = path.with_suffix(f".{os.getpid()}")
    text = json.dumps(launch)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    head = {"format": FORMAT, "heronpy": parcel.get("heronpy", ""), "sha256": checksum}
    with open(draft, "w", opener=private) as file:
        # the launch as it was when its checksum was computed
        file.write(f'{json.dumps(head)[:-1]}, "launch": {text}}}')
    draft.replace(path)
    return path


def _kept(secret: Path, folder: Path) -> Path:
    """Move a secret file to where the container's processes look for it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    kept = folder / secret.name
    draft = kept.with_suffix(f".{os.getpid()}")
    with open(draft, "wb", opener=private) as file:
        file.write(secret.read_bytes())
    draft.replace(kept)
    secret.unlink()
    return kept


if __name__ == "__main__":
    main(sys.argv[1:])
