"""Data in and out of Spark: what a topology emits is what Spark has read, and the other way round."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from support.clusters.spark_session import small_spark, start_session
from support.faults.fire import plays
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.segment_rows import rows_in

from heronpy.kernel.errors import UserError
from heronpy.spark import feed, forget_reader

#: Spark gives a worker ten seconds to start; whoever runs a query starts it again then, and so do we
TOO_BUSY = "Python worker failed to connect back"

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(400),
    # sockets of PySpark's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
    gateway = session.sparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    # it ends when nobody holds its standard input any more
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    # who starts a Spark next in this process gets another JVM
    SparkContext._gateway = SparkContext._jvm = None


def store_of(engine: Engine) -> str:
    return str(engine.home / "checkpoints")


def place(engine: Engine, topology: str, component: str = "out") -> dict[str, str]:
    return {"topology": topology, "component": component, "path": store_of(engine)}


class Running:
    """A query that can be stopped and goes on."""

    def __init__(self, start: Callable[[], StreamingQuery]) -> None:
        self._start = start
        self.query = start()

    def wait(self, condition: Callable[[], bool], what: str, detail: Callable[[], str] = str) -> None:
        def held() -> bool:
            error = self.query.exception()
            if error is not None and TOO_BUSY not in str(error):
                raise error
            if error is not None:
                self.query = self._start()
            return condition()

        wait_until(held, 150, what, detail)

    def restart(self) -> None:
        """At whatever it is about to do."""
        self.query.stop()
        self.query = self._start()


class Reading(Running):
    """What it reads goes into files, once each."""

    def __init__(self, spark: SparkSession, engine: Engine, folder: Path, **options: str) -> None:
        self._out = folder / "out"

        def start() -> StreamingQuery:
            frame = spark.readStream.format("heron").options(**place(engine, "ToSpark"), **options).load()
            stream = frame.writeStream.format("parquet").option("path", str(self._out))
            return stream.option("checkpointLocation", str(folder / "checkpoint")).start()

        super().__init__(start)

    def numbers(self) -> Counter[int]:
        """In the files that Spark counts as written."""
        entries = {
            json.loads(line)["path"]
            for log in (self._out / "_spark_metadata").glob("[0-9]*")
            for line in log.read_text().splitlines()[1:]
        }
        found: Counter[int] = Counter()
        for path in entries:
            found.update(parquet.read_table(urllib.parse.urlparse(path).path)["number"].to_pylist())
        return found

    def wait_for(self, count: int) -> None:
        self.wait(
            lambda: self.numbers().total() >= count,
            f"Spark has read {count} rows",
            lambda: str(self.numbers().total()),
        )


class Source:
    """The numbers that the topology has to emit."""

    def __init__(self, engine: Engine, folder: Path, allowed: int) -> None:
        self._file = folder / "allowed"
        self.allowed = 0
        self.allow(allowed)
        self.submitted = ("submit", str(TOPOLOGIES / "to_spark.py"), str(self._file))
        engine.ok(*self.submitted, timeout=110)

    def allow(self, more: int) -> None:
        self.allowed += more
        self._file.with_suffix(".new").write_text(str(self.allowed))
        self._file.with_suffix(".new").rename(self._file)


def kill_one(engine: Engine, role: str) -> None:
    victim = next(process for process in engine.processes() if plays(role, process))
    os.kill(victim.pid, signal.SIGKILL)


def test_spark_reads_exactly_what_was_emitted_whoever_restarts(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    source = Source(engine, tmp_path, 2000)
    reading = Reading(spark, engine, tmp_path)
    reading.wait_for(1)
    source.allow(2000)
    reading.restart()
    kill_one(engine, "out")
    reading.wait_for(source.allowed)
    source.allow(4000)
    engine.ok("update", "ToSpark", "out=3", timeout=110)
    kill_one(engine, "stream-manager")
    reading.wait_for(source.allowed)
    source.allow(4000)
    reading.wait_for(source.allowed - 3000)
    engine.ok("kill", "ToSpark", "--keep-checkpoints")
    reading.restart()
    engine.ok(*source.submitted, "--from", "ToSpark", timeout=110)
    reading.wait_for(source.allowed)
    time.sleep(1.5)  # three checkpoints: more would come now
    total = source.allowed
    assert reading.numbers() == Counter(range(total))
    # what has been read is taken away, but for the last batch
    rows = spark.read.format("heron").options(**place(engine, "ToSpark")).load().count()
    assert rows < total / 2
    reading.query.stop()
    engine.ok("kill", "ToSpark")
    assert engine.leftovers() == []
    assert not (Path(store_of(engine)) / "ToSpark/components").exists()


class Writing(Running):
    """Files of numbers, one in each batch, go to a topology."""

    def __init__(self, spark: SparkSession, engine: Engine, folder: Path) -> None:
        self.files = folder / "in"
        self.files.mkdir()
        self.checkpoint = folder / "feed"
        self._next = 0

        def start() -> StreamingQuery:
            frame = spark.readStream.schema("number long, word string").option("maxFilesPerTrigger", 1)
            rows = frame.json(str(self.files))
            query = feed(
                rows,
                "FromSpark",
                "rows",
                checkpoint=str(self.checkpoint),
                path=store_of(engine),
                outstanding=4,
            )
            assert query is not None
            return query

        super().__init__(start)

    def add(self, files: int, rows: int = 200) -> None:
        for _ in range(files):
            lines = [{"number": self._next + row, "word": "w"} for row in range(rows)]
            hidden = self.files / f".{self._next}.json"
            hidden.write_text("".join(json.dumps(line) + "\n" for line in lines))
            self._next += rows
            hidden.rename(self.files / f"{self._next:09d}.json")

    @property
    def written(self) -> int:
        return self._next

    def forget_the_last_batch(self) -> None:
        """As if the driver had died before it noted that the batch is done."""
        self.query.stop()
        newest = max((self.checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        newest.unlink()
        newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
        self.query = self._start()


def arrived(spark: SparkSession, engine: Engine) -> Counter[int]:
    """What the topology has made of what it got."""
    rows = spark.read.format("heron").options(**place(engine, "FromSpark")).load().collect()
    assert all(row.twice == 2 * row.number for row in rows)
    return Counter(row.number for row in rows)


def arrived_by_now(engine: Engine) -> Counter[int]:
    """The same without Spark, to look often."""
    return Counter(row["number"] for row in rows_in(Path(store_of(engine)), "FromSpark"))


def test_a_topology_gets_exactly_what_spark_writes_whoever_restarts(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    submitted = ("submit", str(TOPOLOGIES / "from_spark.py"))
    engine.ok(*submitted, timeout=110)
    writing = Writing(spark, engine, tmp_path)

    def there() -> bool:
        return arrived_by_now(engine).total() >= writing.written

    writing.add(3)
    writing.wait(there, "the first rows arrive", engine.log_tails)
    writing.forget_the_last_batch()
    writing.add(3)
    kill_one(engine, "rows")
    writing.restart()
    writing.wait(there, "rows arrive after a spout was killed", engine.log_tails)
    writing.add(4)
    engine.ok("update", "FromSpark", "rows=3", timeout=110)
    engine.ok("kill", "FromSpark", "--keep-checkpoints")
    writing.add(2)
    engine.ok(*submitted, "--from", "FromSpark", timeout=110)
    writing.wait(there, "all rows arrive", engine.log_tails)

    more = spark.range(10_000, 10_500).selectExpr("id AS number", "'w' AS word")
    feed(more, "FromSpark", "rows", path=store_of(engine), wait=True)
    for _ in range(2):
        feed(more.selectExpr("number + 10000 AS number", "word"), "FromSpark", "rows",
             path=store_of(engine), id="monday", wait=True)  # fmt: skip
    expected = Counter([*range(writing.written), *range(10_000, 10_500), *range(20_000, 20_500)])
    wait_until(lambda: arrived_by_now(engine).total() >= expected.total(), 60, "batches arrive")
    time.sleep(1.5)  # three checkpoints: more would come now
    assert arrived(spark, engine) == expected
    writing.query.stop()
    left = list((Path(store_of(engine)) / "FromSpark/components/rows/ingest").rglob("once-*"))
    assert left == []
    engine.ok("kill", "FromSpark")
    assert not (Path(store_of(engine)) / "FromSpark/components").exists()


def test_at_least_once_nothing_is_left_out(spark: SparkSession, engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "from_spark.py"), "ATLEAST_ONCE", timeout=110)
    rows = spark.range(2_000).selectExpr("id AS number", "'w' AS word")
    feed(rows, "FromSpark", "rows", path=store_of(engine))
    kill_one(engine, "out")
    wait_until(
        lambda: len(arrived_by_now(engine)) == 2_000,
        100,
        "all rows arrive",
        lambda: f"{len(arrived_by_now(engine))}{engine.log_tails()}",
    )
    assert set(arrived(spark, engine)) == set(range(2_000))
    engine.ok("kill", "FromSpark")


def test_two_queries_read_one_sink_each_at_its_own_pace(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    source = Source(engine, tmp_path, 2000)
    quick = Reading(spark, engine, tmp_path / "quick", reader="quick", maxSegmentsPerTrigger="3")
    slow = Reading(spark, engine, tmp_path / "slow", reader="slow")
    quick.wait_for(1)
    slow.wait_for(1)
    slow.query.stop()
    source.allow(2000)
    total = source.allowed
    quick.wait_for(total)
    assert slow.numbers().total() < total
    slow.restart()
    slow.wait_for(total)
    for each in (quick, slow):
        each.query.stop()
        assert each.numbers() == Counter(range(total))
    with pytest.raises(UserError, match=r"is not read by 'quack', but by quick, slow$"):
        forget_reader("quack", **place(engine, "ToSpark"))
    forget_reader("slow", **place(engine, "ToSpark"))
    engine.ok("kill", "ToSpark")


def said(error: pytest.ExceptionInfo[PySparkException]) -> str:
    """The line of ours in all that Spark has to say."""
    return next(
        line.partition("Error: ")[2]
        for line in str(error.value).splitlines()
        if line.startswith("heronpy.kernel.errors.")
    )


def test_what_cannot_be_is_said_in_one_line(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    engine.ok("submit", str(TOPOLOGIES / "from_spark.py"), timeout=110)
    rows = spark.range(5).selectExpr("id AS number", "'w' AS word")

    def reading(**options: str) -> str:
        with pytest.raises(PySparkException) as caught:
            spark.read.format("heron").options(**options).load().count()
        return said(caught)

    here = place(engine, "FromSpark")
    assert reading(**place(engine, "Nobody")).startswith(
        "topology 'Nobody' has no SegmentSink 'out', or has not been submitted, or not with the checkpoint"
        f" store in {store_of(engine)} (try: run heronpy status Nobody"
    )
    assert (
        reading(**{**here, "component": "ouf"})
        == "topology 'FromSpark' has no SegmentSink 'ouf'; did you mean 'out'?"
    )
    assert reading(**here, colour="red").startswith("the data source 'heron' has no option 'colour' (known:")
    assert reading(topology="FromSpark").startswith("the data source 'heron' needs the option 'component'")
    with pytest.raises(PySparkException) as caught:
        spark.read.format("heron").schema("number string").options(**here).load().count()
    assert said(caught) == (
        "SegmentSink 'out' of topology 'FromSpark' has the columns (number: int64, twice: int64), and the"
        " query asks for struct<number:string> (try: leave out .schema(…))"
    )
    with pytest.raises(PySparkException) as caught:
        rows.write.format("heron").mode("overwrite").options(**place(engine, "FromSpark", "rows")).save()
    assert said(caught) == 'a topology cannot be overwritten, only fed (try: use .mode("append"))'

    with pytest.raises(
        UserError, match=r"^topology 'FromSpark' has no IngestSpout 'row'; did you mean 'rows'"
    ):
        feed(rows, "FromSpark", "row", path=store_of(engine))
    lines = spark.readStream.schema("number long, word string").json(str(tmp_path))
    with pytest.raises(UserError, match=r"^a streaming DataFrame needs a checkpoint: with it no row comes"):
        feed(lines, "FromSpark", "rows", path=store_of(engine))
    with pytest.raises(UserError) as mismatch:
        feed(rows.select("number"), "FromSpark", "rows", path=store_of(engine))
    assert str(mismatch.value) == (
        "IngestSpout 'rows' of topology 'FromSpark' takes the columns (number: int64, word: string), and the"
        " DataFrame has struct<number:bigint> (try: use df.select(…), with .cast(…) where types differ)"
    )
    engine.ok("deactivate", "FromSpark")
    with pytest.raises(PySparkException, match=r"IngestSpout 'rows' of topology 'FromSpark' has the batch"):
        feed(rows, "FromSpark", "rows", path=store_of(engine), wait=True, timeout="1s")
    engine.ok("kill", "FromSpark")


def test_the_example_counts_the_words_that_spark_gives_it(engine: Engine, tmp_path: Path) -> None:
    engine.ok("submit", str(EXAMPLES / "spark_words.py"), timeout=110)
    text = tmp_path / "text"
    text.write_text("a heron a stream\na fish\n")
    script = subprocess.run(
        [sys.executable, str(EXAMPLES / "spark" / "words.py"), str(text)],
        env={**engine.environment, **small_spark(tmp_path)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert script.returncode == 0, script.stderr
    shown = [line.strip("|").split("|") for line in script.stdout.splitlines() if "|" in line]
    assert [[cell.strip() for cell in row] for row in shown] == [
        ["word", "count"],
        ["a", "3"],
        ["fish", "1"],
        ["heron", "1"],
        ["stream", "1"],
    ]
    engine.ok("kill", "SparkWords")
