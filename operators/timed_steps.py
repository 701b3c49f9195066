"""Steps without state over records with event time: what is made of a record has its time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from heronpy.operators.flowing import Out
from heronpy.operators.per_key import Keeper
from heronpy.operators.stamped import Stamped
from heronpy.pipeline.graph import (
    EdgeKey,
    FilterOp,
    FlatMapOp,
    HashJoinOp,
    MapAsyncOp,
    MapOp,
    OnlyOp,
    Op,
    PartitionOp,
)


def timed(op: Op) -> Op:
    """The same operation over stamped records."""
    match op:
        case MapOp(fn=one):
            return MapOp(lambda row: Stamped(row[0], one(row[1]), row[2]))
        case FlatMapOp(fn=many):
            return FlatMapOp(_many(many))
        case FilterOp(fn=test):
            return FilterOp(of_value(test))
        case OnlyOp(kinds=kinds):
            return FilterOp(lambda row: isinstance(row[1], kinds))
        case PartitionOp(fn=test):
            return PartitionOp(of_value(test))
        case HashJoinOp(on=on):
            return dataclasses.replace(op, on=of_value(on))
        case MapAsyncOp(fn=call):

            async def stamped(row: Stamped) -> Stamped:
                return Stamped(row.time, await call(row.value), row.retracts)

            return dataclasses.replace(op, fn=stamped)
    return op


def of_value(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of what is stamped."""
    return lambda row: fn(row[1])


def timed_key(key: EdgeKey) -> EdgeKey:
    return dataclasses.replace(key, fn=of_value(key.fn))


def _many(fn: Callable[[Any], Iterable[Any]]) -> Callable[[Any], Any]:
    def made(row: Stamped) -> Any:
        results = fn(row.value)
        return None if results is None else (Stamped(row.time, one, row.retracts) for one in results)

    return made


def joined(out: Out) -> Out:
    """Behind a hash join: pairs of a stamped record and a row, stamped as pairs."""
    return lambda pairs: out([Stamped(one.time, (one.value, row), one.retracts) for one, row in pairs])


def plain(keyed: bool, run: Callable[[int, Sequence[Any]], None]) -> Callable[[int, Sequence[Any]], None]:
    """A step to which event time means nothing: it gets the records as they are."""
    if keyed:
        return lambda slot, rows: run(slot, [(key, row[1]) for key, row in rows])
    return lambda slot, rows: run(slot, [row[1] for row in rows])


class Stamping:
    """The time of the record that a step with state has in hand, for what it makes of it."""

    def __init__(self) -> None:
        self._row = Stamped(0, None)

    def out(self, out: Out) -> Out:
        return lambda made: out([Stamped(self._row.time, one, self._row.retracts) for one in made])

    def one_by_one(self, keeper: Keeper) -> Callable[[int, Sequence[Any]], None]:
        def take(slot: int, rows: Sequence[Any]) -> None:
            for key, self._row in rows:
                keeper.take(slot, [(key, self._row.value)])

        return take
