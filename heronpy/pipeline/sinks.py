"""The sinks that pipelines write, by short names: `stream.write(sinks.printed())`."""

# ruff: noqa: N813 - classes that read as words of a pipeline
from typing import Any

from heronpy.connectors.collected import CollectedSink
from heronpy.connectors.components import BoltSink as bolt
from heronpy.connectors.files.folder import FolderSink as files
from heronpy.connectors.printed import PrintedSink as printed
from heronpy.connectors.sqlite.database import DatabaseSink as sqlite

__all__ = ["bolt", "collected", "files", "printed", "sqlite"]


def collected() -> CollectedSink[Any]:
    """A list of all records, for tests and notebooks: `.records`, when the pipeline has run."""
    return CollectedSink()
