"""Checkpoints wherever fsspec reaches: object stores, HDFS and more, named by a URL."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from typing import Any

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import HeronError, ObjectMissing, PluginError, StoreError
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore, checked_object

#: no object can have this name, since it begins with a dot
UNFINISHED = ".unfinished"

#: seconds after which what is unfinished is taken for what a dead writer left
STALE = 86400.0

#: what file systems say of a name that is not there, or is a folder
_MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class FsspecStore(CheckpointStore):
    """Objects below the URL `checkpoint.path`. Further options are the table [plugins.fsspec].

    An object is written under another name and moved when it is complete. Where moving is copying, as in
    object stores, the copy appears when it is complete.
    """

    @override
    def initialize(self, config: Config) -> None:
        self._url = config.text("checkpoint.path")
        if "://" not in self._url:
            msg = f"the checkpoint store 'fsspec' wants a URL, and checkpoint.path is {self._url!r}"
            raise StoreError(msg, hint="--set checkpoint.path=s3://bucket/heronpy")
        with self._errors():
            self._files, root = _file_system()(self._url, **config.plugin("fsspec"))
        self._root = root.rstrip("/")
        self._clear_unfinished()

    @override
    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        path = self._path(name)
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

    @override
    def read(self, name: str) -> bytes:
        path = self._path(name)
        with self._errors():
            try:
                return bytes(self._files.cat_file(path))
            except _MISSING:
                msg = f"no object {name} in the checkpoint store {self._url}"
                raise ObjectMissing(msg, hint="heronpy checkpoints") from None

    @override
    def names(self, prefix: str) -> list[str]:
        folder = prefix.rpartition("/")[0]
        try:
            top = self._path(folder) if folder else self._root
        except StoreError:
            return []  # no name begins with it
        found = (path.removeprefix(f"{self._root}/") for path in self._find(top))
        return sorted(name for name in found if name.startswith(prefix) and not name.startswith("."))

    @override
    def delete(self, name: str) -> None:
        path = self._path(name)
        with self._errors(), contextlib.suppress(*_MISSING):
            self._files.rm_file(path)

    def _path(self, name: str) -> str:
        return f"{self._root}/{checked_object(name)}"

    def _find(self, folder: str) -> list[str]:
        with self._errors():
            self._files.invalidate_cache()  # others write there as well
            try:
                return list(self._files.find(folder))
            except _MISSING:
                return []

    def _clear_unfinished(self) -> None:
        for path in self._find(f"{self._root}/{UNFINISHED}"):
            begun = path.rpartition("/")[2].partition("-")[0]
            if begun.isdigit() and time.time() - int(begun) > STALE:
                with self._errors(), contextlib.suppress(*_MISSING):
                    self._files.rm_file(path)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Each of the many file systems has errors of its own, and they mean the same to us."""
        try:
            yield
        except HeronError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            msg = f"cannot use the checkpoint store {self._url}: {reason}"
            raise StoreError(
                msg, hint="check checkpoint.path, and the right to read and write there"
            ) from error


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _file_system() -> Any:
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        msg = "the checkpoint store 'fsspec' needs the package fsspec"
        raise PluginError(msg, hint="pip install 'heron-py[fsspec]'") from None
    return url_to_fs
