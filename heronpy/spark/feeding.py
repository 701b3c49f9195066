"""Makes any DataFrame the input of a topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.spark.options import Options
from heronpy.spark.source import HeronDataSource
from heronpy.spark.writing import BatchWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


def feed(
    df: DataFrame,
    topology: str,
    component: str,
    *,
    checkpoint: str | None = None,
    trigger: dict[str, Any] | None = None,
    **options: object,
) -> StreamingQuery | None:
    """Let the IngestSpout `component` of a running topology emit the rows of a DataFrame.

    A DataFrame is written at once, and None returned when it is in the topology's store. A streaming one is
    started, and the query returned: `checkpoint` is its checkpointLocation, `trigger` what
    writeStream.trigger() takes, as a dict. Other options are those of the data source: path="…", wait=True.
    """
    plain = {key: _text(value) for key, value in options.items()}
    plain |= {"topology": topology, "component": component}
    # here as well as in Spark, which has more to say about every error
    chosen = Options.parse(plain)
    BatchWriter(chosen, df.schema)
    plain["path"] = Config.from_plain(chosen.config).text("checkpoint.path")
    HeronDataSource.register(df.sparkSession)
    if not df.isStreaming:
        df.write.format("heron").mode("append").options(**plain).save()
        return None
    if checkpoint is None:
        msg = "a streaming DataFrame needs a checkpoint: with it no row comes twice when the query restarts"
        raise UserError(msg, hint=f"feed(df, {topology!r}, {component!r}, checkpoint='/data/feed')")
    stream = df.writeStream.format("heron").options(**plain).option("checkpointLocation", checkpoint)
    return (stream.trigger(**trigger) if trigger else stream).start()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
