"""The sources that pipelines read, by short names: `p.read(sources.lines("book.txt"))`."""

from heronpy.connectors.files.lines import LineSource as lines  # noqa: N813 - reads as a word of the pipeline
from heronpy.connectors.items import ItemSource as items  # noqa: N813

__all__ = ["items", "lines"]
