"""Announces the checkpoint stores that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import CheckpointStore, hookimpl
from heronpy.kernel.plugin.imported_later import ImportedLater


@hookimpl
def heron_checkpoint_stores() -> Mapping[str, type[CheckpointStore]]:
    return ImportedLater(
        {
            "localfs": "heronpy.plugins.checkpoints.localfs:LocalFsStore",
            "fsspec": "heronpy.plugins.checkpoints.fsspec:FsspecStore",
        }
    )
