"""Announces the uploaders that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import Uploader, hookimpl
from heronpy.plugins.uploader.fsspec import FsspecUploader
from heronpy.plugins.uploader.localfs import LocalFsUploader


@hookimpl
def heron_uploaders() -> Mapping[str, type[Uploader]]:
    return {"localfs": LocalFsUploader, "fsspec": FsspecUploader}
