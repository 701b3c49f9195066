"""Rows in an object of the checkpoint store: a line that says the format, and an Arrow stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from heronpy.kernel.errors import UserError
from heronpy.kernel.formats import SPARK
from heronpy.spark.packages import arrow

#: in the first line
_WORD: Final = "rows"


def to_stream(batches: Sequence[Any]) -> bytes:
    """Batches of one schema."""
    pa = arrow()
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    written: bytes = buffer.getvalue().to_pybytes()
    return SPARK.first_line(_WORD) + written


def from_stream(data: bytes, name: str) -> Any:
    """The reader of the batches in an object, to be used in a `with`."""
    begin = SPARK.behind_line(data, _WORD, f"the object {name}")
    if not begin:
        msg = f"the object {name} holds no rows"
        raise UserError(msg)
    pa = arrow()
    return pa.ipc.open_stream(pa.py_buffer(data).slice(begin))
