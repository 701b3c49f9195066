"""Which files a source reads: a path, several, globs, or folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence

from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError

#: one path or several; each may have wildcards, or be a folder
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def absolute_paths(paths: Paths) -> tuple[str, ...]:
    """Absolute, so that they mean the same in every process."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given or not all(os.fspath(path) for path in given):
        msg = f"{paths!r} names no file"
        raise DefinitionError(msg, hint="give a path such as 'data.txt', 'data/*.txt', or a list of them")
    return tuple(os.path.abspath(path) for path in given)


def find_files(paths: Sequence[str]) -> list[str]:
    """The files that these name, sorted and each once; UserError where a path names none."""
    return sorted({file for path in paths for file in _matches(path)})


def _matches(path: str) -> list[str]:
    if os.path.isdir(path):
        found = [entry.path for entry in os.scandir(path) if entry.is_file() and entry.name[0] not in "._"]
        if not found:
            msg = f"there is no file in the folder {path}"
            raise UserError(msg, hint=f"to read its subfolders as well: {os.path.join(path, '**', '*')}")
        return found
    if os.path.isfile(path):
        return [path]
    if not glob.has_magic(path):
        what = "is neither a file nor a folder" if os.path.exists(path) else "does not exist"
        msg = f"{path} {what}"
        raise UserError(msg, hint="correct the path; a relative one begins where the program was started")
    found = [match for match in glob.glob(path, recursive=True) if os.path.isfile(match)]
    if not found:
        msg = f"no file matches {path}"
        raise UserError(msg, hint=f"ls {os.path.dirname(path)}")
    return found
