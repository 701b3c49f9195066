"""What a SegmentSink has committed and nobody has taken away, read without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heronpy.kernel.errors import ObjectMissing
from heronpy.spark.arrow_stream import from_stream
from heronpy.spark.options import Options
from heronpy.spark.segments import COMMITTED, DATA, Present


def rows_in(
    place: Path | str, topology: str, component: str = "out", store: str = "localfs"
) -> list[dict[str, Any]]:
    options = {"topology": topology, "component": component, "path": str(place), "store": store}
    shelf = Options.parse(options).open("segments")
    found: list[dict[str, Any]] = []
    try:
        marks = shelf.names(COMMITTED)
        for segment in Present.of(marks, shelf.names(DATA)).segments():
            for name in segment.data():
                with from_stream(shelf.read(name), name) as stream:
                    found += stream.read_all().to_pylist()
    except ObjectMissing:  # it was cleared while we looked
        return []
    finally:
        shelf.close()
    return found
