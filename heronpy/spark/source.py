"""The data source `heron` of Spark: spark.dataSource.register(HeronDataSource)."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from heronpy.kernel.errors import UserError
from heronpy.spark.options import Options
from heronpy.spark.packages import arrow, needed

needed("pyspark", "the data source 'heron'")

from pyspark.sql.datasource import (  # noqa: E402 - after the line that says how to get it
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HeronDataSource(DataSource):
    """Reads what a SegmentSink has written, and writes what an IngestSpout reads.

    Options: `topology` and `component`; `path` and `store` of the checkpoint store, and any setting of
    heron.toml by its full name. More are in docs/spark-data.md.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        arrow()
        self._chosen = Options.parse(options)

    @classmethod
    def name(cls) -> str:
        return "heron"

    @classmethod
    def register(cls, spark: SparkSession) -> None:
        """Make it known to a session."""
        arrow()
        spark.dataSource.register(cls)

    def schema(self) -> StructType:
        from heronpy.spark.schema import to_spark

        shelf = self._chosen.open("segments")
        try:
            schema: StructType = to_spark(self._chosen.schema(shelf, "segments"))
            return schema
        finally:
            shelf.close()

    def reader(self, schema: StructType) -> DataSourceReader:
        from heronpy.spark.reading import SegmentReader

        return SegmentReader(self._chosen, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from heronpy.spark.reading import SegmentStreamReader

        return SegmentStreamReader(self._chosen, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from heronpy.spark.writing import BatchWriter

        _refuse_overwriting(overwrite, 'use .mode("append")')
        return BatchWriter(self._chosen, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from heronpy.spark.writing import StreamWriter

        _refuse_overwriting(overwrite, 'use .outputMode("append") or "update"')
        return StreamWriter(self._chosen, schema)


def _refuse_overwriting(overwrite: bool, hint: str) -> None:
    if overwrite:
        msg = "a topology cannot be overwritten, only fed"
        raise UserError(msg, hint=hint)
