"""Bolts that take all rows of a batch at once: what is refused when the file is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from heronpy.kernel.errors import HeronError
from heronpy.loading import load_topologies

FILE = """
import pyarrow as pa
from heronpy import BasicBolt, Bolt, Grouping, Schema, Spout, Topology

class Words(Spout):
    outputs = Schema(word=pa.string())
    def next_tuple(self): ...

class Count({base}):
    def {method}({parameters}): ...

class Columns(Topology):
    config = {{"topology.reliability.mode": "{mode}"}}
    words = Words.spec()
    count = Count.spec(inputs=[words])
"""


def loaded(
    folder: Path, base: str, parameters: str, mode: str = "ATLEAST_ONCE", method: str = "process_columns"
) -> bool:
    file = folder / "columns.py"
    file.write_text(FILE.format(base=base, method=method, parameters=parameters, mode=mode))
    (plan,) = load_topologies(file, [])
    return plan.component("count").reads_columns


@pytest.mark.parametrize(
    ("base", "parameters", "mode"),
    [
        ("Bolt", "self, batch, origin", "ATLEAST_ONCE"),
        ("BasicBolt", "self, batch", "ATLEAST_ONCE"),
        ("Bolt", "self, batch", "ATMOST_ONCE"),
    ],
)
def test_a_bolt_in_columns_needs_no_process(tmp_path: Path, base: str, parameters: str, mode: str) -> None:
    assert loaded(tmp_path, base, parameters, mode)
    assert not loaded(tmp_path, base, parameters, mode, "process_rows")


def test_a_bolt_that_cannot_ack_its_batches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeronError, match=r"Count.process_columns\(batch\) cannot ack its batches"):
        loaded(tmp_path, "Bolt", "self, batch")
    with pytest.raises(HeronError, match=r"Count.process_rows\(rows\) cannot ack its batches"):
        loaded(tmp_path, "Bolt", "self, rows", method="process_rows")


def test_process_columns_takes_a_batch_and_its_origin(tmp_path: Path) -> None:
    with pytest.raises(HeronError, match=r"define it as process_columns\(self, batch, origin\)"):
        loaded(tmp_path, "Bolt", "self, batch, origin, more")
