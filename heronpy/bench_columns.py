"""The word count of `heronpy bench words` in columns: the same words and key groups, as record batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from heronpy import Schema
from heronpy.kernel.plans.logical import DEFAULT_KEY_GROUPS
from heronpy.kernel.tables.key_table import KeyTable

#: words of one batch
BATCH = 10_000

SCHEMA = Schema(word=pa.string())


def column_block(words: Iterable[str]) -> Any:
    """All words as one record batch, of which batches are slices."""
    return pa.record_batch([pa.array(words, pa.string())], schema=SCHEMA.arrow)


class ColumnCounts:
    """Words and their counts."""

    def __init__(self, table: Any = None) -> None:
        """`table` is that of a state which is saved."""
        self._table = table or KeyTable(SCHEMA.arrow, {"count": "int64"}, DEFAULT_KEY_GROUPS)

    def add(self, batch: Any) -> None:
        self._table.add(batch.columns, {"count": 1})

    def items(self) -> Iterable[tuple[str, int]]:
        whole = self._table.batch()
        return zip(whole["word"].to_pylist(), whole["count"].to_pylist(), strict=True)
