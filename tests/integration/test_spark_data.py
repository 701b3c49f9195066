"""Data in and out of Spark: what a topology emits is what Spark has read, and the other way round."""

from __future__ import annotations

import json
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from support.engine import TOPOLOGIES, Engine, wait_until
from support.spark_session import start_session

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


class Reading:
    """A streaming query that writes what it reads into files, once each; it can be stopped and goes on."""

    def __init__(self, spark: SparkSession, engine: Engine, folder: Path, topology: str = "ToSpark") -> None:
        self._spark = spark
        self._folder = folder
        self._options = {"topology": topology, "component": "out", "path": str(engine.home / "checkpoints")}
        self.query: StreamingQuery | None = None

    def start(self) -> None:
        frame = self._spark.readStream.format("heron").options(**self._options).load()
        self.query = (
            frame.writeStream.format("parquet")
            .option("path", str(self._folder / "out"))
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .start()
        )

    def stop(self) -> None:
        assert self.query is not None
        self.query.stop()

    def numbers(self) -> Counter[int]:
        """What is in the files that Spark counts as written."""
        entries = {
            json.loads(line)["path"]
            for log in (self._folder / "out" / "_spark_metadata").glob("[0-9]*")
            for line in log.read_text().splitlines()[1:]
        }
        found: Counter[int] = Counter()
        for path in entries:
            found.update(parquet.read_table(urllib.parse.urlparse(path).path)["number"].to_pylist())
        return found

    def check(self) -> None:
        assert self.query is not None
        if (error := self.query.exception()) is not None:
            raise error

    def wait_for(self, count: int, timeout: float = 120.0) -> None:
        def enough() -> bool:
            self.check()
            return self.numbers().total() >= count

        wait_until(enough, timeout, f"Spark has read {count} rows", lambda: str(self.numbers().total()))


def test_spark_reads_what_the_topology_emits(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    total = 20_000
    engine.ok("submit", str(TOPOLOGIES / "to_spark.py"), str(total), "4000", timeout=110)
    reading = Reading(spark, engine, tmp_path)
    reading.start()
    reading.wait_for(1)
    reading.stop()
    reading.start()
    reading.wait_for(total)
    reading.stop()
    assert reading.numbers() == Counter(range(total))
    engine.ok("kill", "ToSpark")
    assert engine.leftovers() == []
    assert list((engine.home / "checkpoints").glob("[!.]*")) == []
