"""Uploads as files in a folder: for containers on this machine, or on machines that share it."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UploadError
from heronpy.kernel.machine.private import require_own_way
from heronpy.kernel.plugin.uploader import Uploader, checked_upload
from heronpy.plugins.disk import UNFINISHED, clear_unfinished, disk_errors, replacing, require_unshared


class LocalFsUploader(Uploader):
    """Files in `upload.path`, or in `uploads` in home. Their URLs are file:///….

    In home only the own account may read them. In a folder that was chosen others may read them, for
    containers may run under another account; its owner decides which accounts may look into the folder.
    """

    @override
    def initialize(self, config: Config) -> None:
        chosen = config.text("upload.path")
        if "://" in chosen:
            msg = f"upload.path is {chosen!r}, and the uploader 'localfs' wants a folder"
            raise UploadError(msg, hint="--set upload.uploader=fsspec")
        self._root = Path(chosen).expanduser().absolute() if chosen else config.home / "uploads"
        self._mode = 0o644 if chosen else 0o600
        self._unfinished = self._root / UNFINISHED
        with self._disk_errors():
            require_unshared(self._root, chosen=bool(chosen))
            clear_unfinished(self._unfinished)

    @override
    def put(self, name: str, path: str) -> str:
        kept = self._root / checked_upload(name)
        try:
            source = open(path, "rb")  # noqa: SIM115 - an error here is about another file than one below
        except OSError as error:
            msg = f"cannot upload {path}: {error.strerror or error}"
            raise UploadError(msg) from error
        with source, self._disk_errors():
            require_own_way(self._root, kept)
            if not _has_size(kept, Path(path).stat().st_size):
                with replacing(kept, self._unfinished, self._mode) as file:
                    shutil.copyfileobj(source, file)
        return kept.as_uri()

    @override
    def get(self, url: str, path: str) -> None:
        source, target = self._kept(url), Path(path)
        with disk_errors(path, UploadError, "take another path"), replacing(target, target.parent) as file:
            try:
                with source.open("rb") as kept:
                    shutil.copyfileobj(kept, file)
            except FileNotFoundError:
                msg = f"there is no upload {url}"
                raise UploadError(msg, hint="submit again, with an upload.path all machines see") from None

    @override
    def delete(self, name: str) -> None:
        with self._disk_errors():
            (self._root / checked_upload(name)).unlink(missing_ok=True)

    @override
    def names(self) -> list[str]:
        with self._disk_errors():
            try:
                return sorted(path.name for path in self._root.iterdir() if path.name != UNFINISHED)
            except FileNotFoundError:
                return []

    def _kept(self, url: str) -> Path:
        parts = urlsplit(url)
        path = Path(unquote(parts.path))
        if parts.scheme != "file" or path.parent != self._root:
            msg = f"{url} is not the URL of an upload in {self._root}"
            raise UploadError(msg, hint="use the upload.uploader and upload.path that it was put with")
        return self._root / checked_upload(path.name)

    def _disk_errors(self) -> contextlib.AbstractContextManager[None]:
        return disk_errors(f"the upload folder {self._root}", UploadError, "set upload.path to another")


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False
