"""The user's code: the folders that the submitted file was loaded with, as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from heronpy.container.remote.parcel.distributions import walk
from heronpy.kernel.config.units import format_size
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Source

#: where it lies in a package
FOLDER = "code"


def relocated(source: Source) -> Source:
    """Where instances find the code in a package: paths that are relative to its folder."""
    folders = {path: f"{FOLDER}/{number}" for number, path in enumerate(source.paths)}
    own = folders[os.path.dirname(source.file)]
    return msgspec.structs.replace(
        source, file=f"{own}/{os.path.basename(source.file)}", paths=tuple(folders.values())
    )


def code_files(source: Source, limit: int) -> Iterator[tuple[str, Path]]:
    """Name in the package, and path here, of all in those folders; refuses more than `limit` bytes."""
    for number, folder in enumerate(source.paths):
        total = 0
        for name, path in _files(Path(folder), f"{FOLDER}/{number}"):
            total += path.stat().st_size
            if total > limit:
                msg = f"{folder} holds more than {format_size(limit)}, and containers would need a copy of it"
                raise UserError(msg, hint="give the topology a folder of its own, or --set upload.limit=1GB")
            yield name, path


def _files(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Without what is hidden and virtual environments; a topology's folder is often a checkout."""
    if folder.is_file():  # an archive on PYTHONPATH
        yield name, folder
        return
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or (entry / "pyvenv.cfg").exists():
            continue
        if entry.is_dir():
            if entry.name != "__pycache__":
                below = walk(entry, f"{name}/{entry.name}")
                yield from (found for found in below if "/." not in found[0])
        elif entry.is_file() and entry.suffix != ".pyc":
            yield f"{name}/{entry.name}", entry
