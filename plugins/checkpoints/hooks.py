"""Announces the checkpoint stores that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import CheckpointStore, hookimpl
from heronpy.plugins.checkpoints.fsspec import FsspecStore
from heronpy.plugins.checkpoints.localfs import LocalFsStore


@hookimpl
def heron_checkpoint_stores() -> Mapping[str, type[CheckpointStore]]:
    return {"localfs": LocalFsStore, "fsspec": FsspecStore}
