"""The shop in columns: the same orders, counts and ledger, as record batches where the shop has tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from support.tasks.crew.shop import CLASSES, Count, Orders, Relay, Watch, key_of, shop

from heronpy import Schema
from heronpy.kernel.plans import PhysicalPlan

ORDER = Schema(split=pa.string(), number=pa.int64())
RELAYED = Schema(key=pa.string(), split=pa.string(), number=pa.int64())
TOTAL = Schema(key=pa.string(), total=pa.int64())


def batch_of(schema: Schema, rows: list[tuple[Any, ...]]) -> Any:
    columns = [
        pa.array(values, kind)
        for values, kind in zip(zip(*rows, strict=True), schema.arrow.types, strict=True)
    ]
    return pa.record_batch(columns, schema=schema.arrow)


def rows_of(batch: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


class ColumnOrders(Orders):
    """A few orders of a split in a batch; its id has all of theirs."""

    def next_tuple(self) -> None:
        for split in self.splits:
            begin = self.state.get(split, 0)
            end = min(begin + 1 + begin % 4, self.ledger.per_split)
            if begin < end:
                self.state[split] = end
                ids = [(split, number) for number in range(begin, end)]
                self.ledger.emitted.update(ids)
                self.emit_batch(batch_of(ORDER, list(ids)), tup_id=tuple(ids))

    def ack(self, tup_id: Any) -> None:
        self.ledger.acked.update(tup_id)

    def fail(self, tup_id: Any) -> None:
        self.ledger.failed.update(tup_id)


class ColumnRelay(Relay):
    def process_columns(self, batch: Any, origin: Any) -> None:
        rows = rows_of(batch)
        self.ledger.arrived["relay"].update(rows)
        relayed = [(key_of(split, number), split, number) for split, number in rows]
        self.emit_batch(batch_of(RELAYED, relayed), anchors=[origin])
        tasks = self._context.get_component_tasks("named")
        for place, (_, number) in enumerate(rows):
            one = batch.slice(place, 1)
            self.emit_batch(one, stream="named", anchors=[origin], direct_task=tasks[number % len(tasks)])
        self.ack(origin)


class ColumnCount(Count):
    """Counts in a table; now and then it emits rows in between."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        super().initialize(config, context)
        self.counts = self.state.table("counts", total="int64")

    def process_columns(self, batch: Any, origin: Any) -> None:
        del batch
        self._kept.append(origin)
        if len(self._kept) >= 2:
            self.drain()

    def drain(self) -> None:
        while self._kept:
            origin = self._kept.pop(0)
            totals = []
            batch: Any = origin.values
            for place in range(len(batch)):
                key = batch.column(0).slice(place, 1)
                self.counts.add(key, {"total": 1})
                totals.append((key[0].as_py(), int(self.counts.get(key)["total"][0])))
            if len(totals) % 2:
                self.emit(totals.pop(0), anchors=[origin])
            if totals:
                self.emit_batch(batch_of(TOTAL, totals), anchors=[origin])
            self.ack(origin)
        self.ledger.drained += 1


class ColumnWatch(Watch):
    def process_columns(self, batch: Any, origin: Any) -> None:
        for split, number in rows_of(batch):
            if (split, number) in self._seen:
                self.ledger.violations.append(f"{self._name} got {split}-{number} twice")
            self._seen.add((split, number))
            self.ledger.arrived[self._name][split, number] += 1
        self.ack(origin)


COLUMN_CLASSES: dict[str, type[Any]] = {
    **CLASSES,
    "Orders": ColumnOrders,
    "Relay": ColumnRelay,
    "Count": ColumnCount,
    "Watch": ColumnWatch,
}


def column_shop(parallelism: Mapping[str, int], reliability: Any) -> PhysicalPlan:
    """The sink and what is written read rows, as they do in the shop."""
    schemas = {"orders": ORDER, "relay": RELAYED, "named": ORDER, "count": TOTAL}
    return shop(parallelism, reliability, {name: schema.encoded() for name, schema in schemas.items()})
