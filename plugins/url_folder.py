"""A folder behind a URL, wherever fsspec reaches: object stores, HDFS and more."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from typing import Any

from heronpy.kernel.config import Config
from heronpy.kernel.errors import HeronError, PluginError, UserError

#: nothing that is kept can have this name, since it begins with a dot
UNFINISHED = ".unfinished"

#: seconds after which an unfinished file counts as left by a dead writer
STALE = 86400.0

CHUNK = 1024 * 1024

#: errors of file systems for a name that is missing, or is a folder
_MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class UrlFolder:
    """Files with names below the URL that a setting holds; further options are the table [plugins.fsspec].

    A file is written under another name and moved when it is complete. Where moving is copying, as in
    object stores, the copy appears when it is complete. Failures are raised as the owner's error.
    """

    def __init__(self, config: Config, setting: str, owner: str, error: type[UserError]) -> None:
        self.url = config.text(setting).rstrip("/")
        self._setting, self._owner, self._error = setting, owner, error
        if "://" not in config.text(setting):
            msg = f"the {owner} 'fsspec' wants a URL, and {setting} is {config.text(setting)!r}"
            raise error(msg, hint=f"--set {setting}=s3://bucket/heronpy")
        with self._errors():
            self._files, root = _file_system(owner)(config.text(setting), **config.plugin("fsspec"))
        self._root = root.rstrip("/")
        self._clear_unfinished()

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Make a file of the chunks, in place of one of that name: all or nothing."""
        path = f"{self._root}/{name}"
        unfinished = f"{self._root}/{UNFINISHED}/{int(time.time())}-{secrets.token_hex(12)}"
        try:
            self._write_all(unfinished, chunks)
            with self._errors():
                self._files.makedirs(_folder(path), exist_ok=True)
                self._files.mv(unfinished, path)
        except BaseException:
            with contextlib.suppress(Exception):
                self._files.rm_file(unfinished)
            raise

    def _write_all(self, path: str, chunks: Iterable[bytes]) -> None:
        with self._errors():
            self._files.makedirs(_folder(path), exist_ok=True)
            file = self._files.open(path, "wb")
        try:
            for chunk in chunks:
                with self._errors():
                    file.write(chunk)
            with self._errors():
                file.flush()
                with contextlib.suppress(AttributeError, OSError):
                    os.fsync(file.fileno())  # only files of this machine have one
        finally:
            with self._errors():
                file.close()

    def read(self, name: str) -> bytes | None:
        """All of the file, or None if it is not there."""
        with self._errors():
            try:
                return bytes(self._files.cat_file(f"{self._root}/{name}"))
            except _MISSING:
                return None

    def chunks(self, name: str) -> Iterator[bytes]:
        """The file piece by piece."""
        with self._errors():
            file = self._files.open(f"{self._root}/{name}", "rb")
        with contextlib.closing(file):
            while True:
                with self._errors():
                    chunk = bytes(file.read(CHUNK))
                if not chunk:
                    return
                yield chunk

    def size(self, name: str) -> int | None:
        """How many bytes the file has, or None if it is not there."""
        with self._errors():
            self._files.invalidate_cache()  # others write there as well
            try:
                found = self._files.info(f"{self._root}/{name}")
            except _MISSING:
                return None
        return int(found["size"]) if found["type"] == "file" else None

    def names(self, folder: str = "") -> list[str]:
        """The names of all complete files in a folder, at whatever depth, sorted."""
        found = self._find(f"{self._root}/{folder}" if folder else self._root)
        names = (path.removeprefix(f"{self._root}/") for path in found)
        return sorted(name for name in names if not name.startswith("."))

    def delete(self, name: str) -> None:
        """Remove a file. A missing one is not an error."""
        with self._errors(), contextlib.suppress(*_MISSING):
            self._files.rm_file(f"{self._root}/{name}")

    def _find(self, folder: str) -> list[str]:
        with self._errors():
            self._files.invalidate_cache()  # others write there as well
            if _lists_in_one_go(self._files):
                try:
                    return list(self._files.find(folder))
                except _MISSING:
                    return []
            return list(self._walk(folder))

    def _walk(self, folder: str) -> Iterator[str]:
        """In place of fsspec's own walk, which takes a folder that it cannot read for empty."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            try:
                entries = self._files.ls(here, detail=True)
            except _MISSING:
                continue
            for entry in entries:
                path = entry["name"].rstrip("/")
                if entry["type"] != "directory":
                    yield path
                elif path != here:
                    waiting.append(path)

    def _clear_unfinished(self) -> None:
        for path in self._find(f"{self._root}/{UNFINISHED}"):
            begun = path.rpartition("/")[2].partition("-")[0]
            if begun.isdigit() and time.time() - int(begun) > STALE:
                with self._errors(), contextlib.suppress(*_MISSING):
                    self._files.rm_file(path)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the errors of the many file systems into the one of the owner."""
        try:
            yield
        except HeronError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            msg = f"cannot use the {self._owner} {self.url}: {reason}"
            hint = f"check {self._setting}, and the right to read and write there"
            raise self._error(msg, hint=hint) from error


def _lists_in_one_go(files: Any) -> bool:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
    from fsspec.asyn import AsyncFileSystem  # type: ignore[import-untyped]

    kind = type(files)
    if issubclass(kind, AsyncFileSystem):
        return bool(kind._find is not AsyncFileSystem._find)
    return bool(kind.find is not AbstractFileSystem.find)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _file_system(owner: str) -> Any:
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        msg = f"the {owner} 'fsspec' needs the package fsspec"
        raise PluginError(msg, hint="pip install 'heron-py[fsspec]'") from None
    return url_to_fs
