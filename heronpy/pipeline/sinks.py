"""The sinks that pipelines write, by short names: `stream.write(sinks.printed())`."""

from __future__ import annotations

from typing import Any

from heronpy.connectors.collected import CollectedSink
from heronpy.connectors.printed import PrintedSink as printed  # noqa: N813 - reads as a word of the pipeline

__all__ = ["collected", "printed"]


def collected() -> CollectedSink[Any]:
    """A list of all records, for tests and notebooks: `.records`, when the pipeline has run."""
    return CollectedSink()
