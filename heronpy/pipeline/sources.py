"""The sources that pipelines read, by short names: `p.read(sources.lines("book.txt"))`."""

# ruff: noqa: N813 - classes that read as words of a pipeline
from heronpy.connectors.components import SpoutSource as spout
from heronpy.connectors.files.csv_rows import CsvSource as csv
from heronpy.connectors.files.json_lines import JsonLineSource as json_lines
from heronpy.connectors.files.lines import LineSource as lines
from heronpy.connectors.files.parquet import ParquetSource as parquet
from heronpy.connectors.items import ItemSource as items
from heronpy.connectors.rate import RateSource as rate

__all__ = ["csv", "items", "json_lines", "lines", "parquet", "rate", "spout"]
