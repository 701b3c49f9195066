"""Uploads wherever fsspec reaches: object stores, HDFS and more, named by a URL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UploadError
from heronpy.kernel.plugin.uploader import Uploader, checked_upload
from heronpy.plugins.disk import disk_errors, replacing
from heronpy.plugins.url_folder import CHUNK, UrlFolder


class FsspecUploader(Uploader):
    """Objects below the URL `upload.path`. Further options are the table [plugins.fsspec]."""

    distributions = ("fsspec",)

    @override
    def initialize(self, config: Config) -> None:
        self._folder = UrlFolder(config, "upload.path", "uploader", UploadError)

    @override
    def put(self, name: str, path: str) -> str:
        size = _size(path)
        there = self._folder.size(checked_upload(name))
        if there != size:
            if there is not None:
                self._folder.delete(name)  # it is damaged, and not every store can move something over it
            try:
                self._folder.write(name, _chunks(path))
            except UploadError:
                if self._folder.size(name) != size:  # else another process has put it in the meantime
                    raise
        return f"{self._folder.url}/{name}"

    @override
    def get(self, url: str, path: str) -> None:
        folder, _, name = url.rpartition("/")
        if folder != self._folder.url:
            msg = f"{url} is not the URL of an upload in {self._folder.url}"
            raise UploadError(msg, hint="use the upload.uploader and upload.path that it was put with")
        if self._folder.size(checked_upload(name)) is None:
            msg = f"there is no upload {url}"
            raise UploadError(msg, hint="submit again")
        target = Path(path)
        with disk_errors(path, UploadError, "take another path"), replacing(target, target.parent) as file:
            for chunk in self._folder.chunks(name):
                file.write(chunk)

    @override
    def delete(self, name: str) -> None:
        self._folder.delete(checked_upload(name))

    @override
    def names(self) -> list[str]:
        return self._folder.names()


def _size(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return os.fstat(file.fileno()).st_size
    except OSError as error:
        msg = f"cannot upload {path}: {error.strerror or error}"
        raise UploadError(msg) from error


def _chunks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
