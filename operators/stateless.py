"""Steps without state, as functions over lists of records.

A step takes a list and hands one on: a comprehension each, which costs no more than a loop written by hand,
and an error in it is that step's without any bookkeeping per record. A map or filter behind an `only`, which
cannot raise, tests the classes in its own comprehension.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from heronpy.operators.failing import Failing, StepFailed
from heronpy.operators.flowing import Flowing, Out
from heronpy.pipeline.graph import EdgeKey, HashJoinOp, OnlyOp

#: what `isinstance` takes
Kinds: TypeAlias = type | tuple[type, ...]


def mapped(fn: Callable[[Any], Any], out: Out, failing: Failing, kinds: Kinds | None = None) -> Out:
    """One record for each, or for each of these classes."""

    def run(records: Sequence[Any]) -> None:
        source = iter(records)
        try:
            if kinds is None:
                made = [fn(record) for record in source]
            else:
                made = [fn(record) for record in source if isinstance(record, kinds)]
        except Exception as error:
            raise failing.within(error, records, source) from error
        if made:
            out(made)

    return tolerant(lambda record: [fn(record)], out, failing) if failing.tolerant else run


def filtered(fn: Callable[[Any], bool], out: Out, failing: Failing, kinds: Kinds | None = None) -> Out:
    """The records that the function keeps, of all or of these classes."""

    def run(records: Sequence[Any]) -> None:
        source = iter(records)
        try:
            if kinds is None:
                kept = [record for record in source if fn(record)]
            else:
                kept = [record for record in source if isinstance(record, kinds) and fn(record)]
        except Exception as error:
            raise failing.within(error, records, source) from error
        if kept:
            out(kept)

    return tolerant(lambda record: [record] if fn(record) else [], out, failing) if failing.tolerant else run


def flat_mapped(fn: Callable[[Any], Iterable[Any]], out: Out, failing: Failing) -> Out:
    """Any number of records for each."""

    def run(records: Sequence[Any]) -> None:
        flowing = Flowing(out)
        for record in records:
            try:
                flowing.add(fn(record))
            except StepFailed:
                raise
            except Exception as error:
                raise failing.on(error, record) from error
        flowing.flush()

    return tolerant(lambda record: list(fn(record)), out, failing) if failing.tolerant else run


def tolerant(expand: Callable[[Any], list[Any]], out: Out, failing: Failing) -> Out:
    """A step that leaves a record for which its function raises, and all that it made of it."""

    def run(records: Sequence[Any]) -> None:
        flowing = Flowing(out)
        for record in records:
            try:
                made = expand(record)
            except Exception as error:
                failing.leave(error, record)
            else:
                flowing.add(made)
        flowing.flush()

    return run


def wanted(op: OnlyOp) -> Kinds:
    """The classes of an `only`; a tuple of one would take longer."""
    return op.kinds[0] if len(op.kinds) == 1 else op.kinds


def only(kinds: Kinds, out: Out) -> Out:
    """The records of these classes."""

    def run(records: Sequence[Any]) -> None:
        if kept := [record for record in records if isinstance(record, kinds)]:
            out(kept)

    return run


def partitioned(fn: Callable[[Any], bool], matching: Out, others: Out, failing: Failing) -> Out:
    """Each record to one of two outputs."""

    def run(records: Sequence[Any]) -> None:
        parts: tuple[list[Any], list[Any]] = ([], [])
        for record in records:
            try:
                parts[not fn(record)].append(record)
            except Exception as error:
                if not failing.tolerant:
                    raise failing.on(error, record) from error
                failing.leave(error, record)
        for part, out in zip(parts, (matching, others), strict=True):
            if part:
                out(part)

    return run


def keyed(key: EdgeKey, out: Out) -> Out:
    """Pairs of key and record, for an edge with a key."""
    fn, failing = key.fn, Failing(key)

    def run(records: Sequence[Any]) -> None:
        source = iter(records)
        try:
            pairs = [(fn(record), record) for record in source]
        except Exception as error:
            raise failing.within(error, records, source) from error
        out(pairs)

    return run


def table_of(rows: Sequence[Any], op: HashJoinOp, failing: Failing) -> Mapping[Hashable, Sequence[Any]]:
    """The rows of a table by their key."""
    table: dict[Hashable, list[Any]] = {}
    for row in rows:
        try:
            table.setdefault(op.key(row), []).append(row)
        except Exception as error:
            raise failing.on(error, row) from error
    return table


def hash_joined(op: HashJoinOp, table: Mapping[Hashable, Sequence[Any]], out: Out, failing: Failing) -> Out:
    """Each record with each row of its key."""
    on = op.on
    missing: tuple[None, ...] = (None,) if op.how == "left" else ()

    def run(records: Sequence[Any]) -> None:
        source = iter(records)
        try:
            pairs = [(record, row) for record in source for row in table.get(on(record), missing)]
        except Exception as error:
            raise failing.within(error, records, source) from error
        if pairs:
            out(pairs)

    return run
