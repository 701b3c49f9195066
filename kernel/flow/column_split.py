"""Splits a record batch among the tasks that own its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heronpy.kernel.flow import compiled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def split(batch: Any, owners: npt.NDArray[np.integer[Any]]) -> dict[int, Any]:
    """The rows of each owner that has any, in the order that they had; `owners` has one for every row.

    All but a batch of one owner is copied once; the parts are slices of the copy.
    """
    import numpy as np

    if len(owners) != batch.num_rows:
        msg = f"{len(owners)} owners for {batch.num_rows} rows"
        raise ValueError(msg)
    if not len(owners):
        return {}
    least = int(owners.min())
    lanes = (owners - least).astype(np.uint32)
    counts = np.bincount(lanes)
    if len(counts) == 1:
        return {least: batch}
    ends = np.cumsum(counts)
    taken = _taken(batch, _order(lanes, ends - counts))
    return {
        least + int(lane): taken.slice(int(ends[lane] - counts[lane]), int(counts[lane]))
        for lane in np.flatnonzero(counts)
    }


def _order(lanes: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The rows lane by lane: a counting sort, which keeps the order within a lane."""
    import numpy as np

    if compiled.columns is None:
        # NumPy sorts numbers of 16 bits by radix, which takes one pass for each byte
        return np.argsort(lanes.astype(np.uint16) if len(starts) <= 2**16 else lanes, kind="stable")
    order = np.empty(len(lanes), np.int64)
    compiled.columns.order(lanes, starts, order)
    return order


def _taken(batch: Any, order: npt.NDArray[np.int64]) -> Any:
    import pyarrow as pa

    rows = pa.array(order)
    return pa.RecordBatch.from_arrays(
        [taken_of(column, rows) for column in batch.columns], schema=batch.schema
    )


def taken_of(column: Any, rows: Any) -> Any:
    """These rows of a column. Views go by way of plain strings: Arrow has no `take` for them."""
    plain = _plain_type(column.type)
    return column.cast(plain).take(rows).cast(column.type) if plain else column.take(rows)


def _plain_type(kind: Any) -> Any | None:
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else None


def taken(batch: Any, chosen: Sequence[tuple[int, int]]) -> dict[int, Any]:
    """The rows that each owner has chosen, as pairs of an owner and the number of a row; in their order."""
    import numpy as np

    numbers: dict[int, list[int]] = {}
    for owner, number in chosen:
        numbers.setdefault(owner, []).append(number)
    return {owner: _taken(batch, np.array(rows, np.int64)) for owner, rows in numbers.items()}


def concatenated(batches: Sequence[Any]) -> Any | None:
    """One batch with all their rows; they have one schema. None if no dictionary can have all their words."""
    import pyarrow as pa

    if len(batches) == 1:
        return batches[0]
    try:
        (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # too many for its indices, or of a rare type
        return None
    return whole


def rows_of(batch: Any) -> list[list[Any]]:
    """The rows as lists of Python's values."""
    columns = [column.to_pylist() for column in batch.columns]
    return list(map(list, zip(*columns, strict=True)))
