"""The record of a container by which a later process finds it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from heronpy.kernel.formats import SESSION
from heronpy.kernel.machine.private import make_private, private


class ContainerRecord(msgspec.Struct, frozen=True):
    """One container: its first process, which leads its session and its process group."""

    container: int
    #: in the environment of the process: finds it if the scheduler died before it wrote the pid
    token: str
    boot: str
    #: 0 until the process is started
    pid: int = 0
    #: start time of the process, see kernel.processes
    started: int = 0


class Records:
    """One small file per container in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, record: ContainerRecord) -> None:
        make_private(self._folder)
        path = self._path(record.container)
        draft = path.with_suffix(".new")
        with open(draft, "wb", opener=private) as file:
            file.write(SESSION.encode(record))
        os.replace(draft, path)

    def remove(self, container: int) -> None:
        self._path(container).unlink(missing_ok=True)

    def __iter__(self) -> Iterator[ContainerRecord]:
        for path in sorted(self._folder.glob("*.json")):
            try:
                record = SESSION.decode(path.read_bytes(), ContainerRecord, str(path), any_format=True)
            except msgspec.DecodeError:
                # only a machine that lost its power tears a file, and no container outlives that
                path.unlink(missing_ok=True)
                continue
            yield record

    def _path(self, container: int) -> Path:
        return self._folder / f"{container}.json"
