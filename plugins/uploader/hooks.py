"""Announces the uploaders that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import Uploader, hookimpl
from heronpy.kernel.plugin.imported_later import ImportedLater


@hookimpl
def heron_uploaders() -> Mapping[str, type[Uploader]]:
    return ImportedLater(
        {
            "localfs": "heronpy.plugins.uploader.localfs:LocalFsUploader",
            "fsspec": "heronpy.plugins.uploader.fsspec:FsspecUploader",
        }
    )
