"""PyFlink: a `KeyedProcessFunction` in Python with its count in `ValueState`, one task.

One job to warm up, then one of FIRST and one of LAST words: what the last takes longer is measured, without
the start of a job.
The state of every key that is not in the cache of the Python process is fetched from the JVM by a call.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import sys
import tempfile
from pathlib import Path

from measuring import Clock, block, report
from pyflink.common import Configuration, Encoder, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, runtime_context) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value} {count}"


def job(words: Path, found: Path) -> None:
    settings = Configuration()
    # the default keeps the state of 1,000 keys in the Python process
    settings.set_string("python.state.cache-size", "2000000")
    settings.set_string("python.fn-execution.bundle.size", "10000")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(1)
    env.set_python_executable(sys.executable)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(words)).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
    keyed = lines.key_by(lambda word: word, key_type=Types.STRING())
    counted = keyed.process(Count(), output_type=Types.STRING())
    counted.sink_to(FileSink.for_row_format(str(found), Encoder.simple_string_encoder()).build())
    env.execute("words")


def main() -> None:
    clock, words = Clock(), block()
    with tempfile.TemporaryDirectory() as folder:
        for number, total in enumerate((clock.first, clock.first, clock.last)):
            file, found = Path(folder, f"words{number}"), Path(folder, f"found{number}")
            file.write_text("\n".join(itertools.islice(itertools.cycle(words), total)) + "\n")
            clock.mark()
            job(file, found)
            clock.mark()
        (a, cpu_a), (b, cpu_b), (c, cpu_c), (d, cpu_d) = clock.stamps[2:]
        clock.stamps = [(b - a, cpu_b - cpu_a), (d - c, cpu_d - cpu_c)]
        counts: dict[str, int] = {}
        for part in found.rglob("*"):
            for line in part.open() if part.is_file() else ():
                word, count = line.split()
                counts[word] = max(counts.get(word, 0), int(count))
    report(clock, counts.items(), pyflink=importlib.metadata.version("apache-flink"))


if __name__ == "__main__":
    main()
