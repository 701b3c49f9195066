"""Writes a package: the same files always make the same bytes."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

#: the earliest time that a zip can hold
_NO_TIME = (1980, 1, 1, 0, 0, 0)

#: little is gained by more, and submit waits for it
_LEVEL = 1


def write_archive(path: Path, modules: Mapping[str, str], files: Iterable[tuple[str, Path]]) -> None:
    """A zip that Python can run: what its `__main__` is made of, and names in it with their paths here."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, text in modules.items():
            _add(archive, name, text.encode())
        for name, file in sorted(dict(files).items()):
            _add(archive, name, file.read_bytes())


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _NO_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    archive.writestr(info, data, compresslevel=_LEVEL)
