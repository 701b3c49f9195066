"""The fields of a stream with their Arrow types: what makes a stream one of columns."""

from __future__ import annotations

import functools
from typing import Any

from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.flow.canonical_columns import converter
from heronpy.kernel.plans import LogicalPlan


class Schema:
    """Names of fields and their Arrow types; goes into `outputs`, or in place of the fields of a Stream.

    >>> import pyarrow as pa
    >>> Schema(word=pa.string(), count=pa.int64())
    Schema(word=string, count=int64)

    A name that is no Python identifier needs `Schema(pyarrow.schema(…))`. What a schema says besides names,
    types and nullability is dropped. Needs the extra `heron-py[columns]`.
    """

    def __init__(self, arrow: Any = None, /, **types: Any) -> None:
        pa = pyarrow()
        if arrow is not None and (types or not isinstance(arrow, pa.Schema)):
            msg = f"Schema takes fields by name, or one pyarrow.Schema, got {arrow!r}"
            raise DefinitionError(msg, hint="Schema(word=pa.string(), count=pa.int64())")
        for name, kind in types.items():
            if not isinstance(kind, pa.DataType):
                msg = f"field {name!r} of a Schema must have an Arrow type, got {kind!r}"
                raise DefinitionError(msg, hint=f"Schema({name}=pa.string())")
        whole = pa.schema(list(types.items())) if arrow is None else arrow
        #: the pyarrow.Schema
        self.arrow: Any = pa.schema([field.remove_metadata() for field in whole])
        if not len(self.arrow):
            msg = "a Schema needs at least one field"
            raise DefinitionError(msg, hint="Schema(word=pa.string())")

    @property
    def names(self) -> list[str]:
        """The fields, in order."""
        return list(self.arrow.names)

    def encoded(self) -> bytes:
        """As it is kept in the plan of a topology."""
        return bytes(self.arrow.serialize())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and bool(self.arrow.equals(other.arrow))

    def __hash__(self) -> int:
        return hash(self.encoded())

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{field.name}={field.type}' for field in self.arrow)})"


@functools.lru_cache(1024)
def arrow_schema(encoded: bytes) -> Any:
    """The pyarrow.Schema that `Schema.encoded` has written."""
    pa = pyarrow()
    return pa.ipc.read_schema(pa.py_buffer(encoded))


def check_batch(batch: Any, schema: Any, where: str) -> None:
    """TopologyError for anything but a record batch of this schema."""
    if not isinstance(batch, pyarrow().RecordBatch):
        msg = f"{where} a {type(batch).__name__}, where a pyarrow.RecordBatch belongs"
        raise TopologyError(msg, hint="for batch in table.to_batches(): self.emit_batch(batch)")
    if batch.schema.equals(schema):
        return
    if batch.schema.names != schema.names:
        msg = f"{where} a batch of {batch.schema.names}, and its Schema has {schema.names}"
        raise TopologyError(msg)
    is_, ought = next((a, b) for a, b in zip(batch.schema, schema, strict=True) if not a.equals(b))
    msg = f"{where} a batch with {is_}, and its Schema has {ought}"
    raise TopologyError(msg, hint="cast the column")


def check_key_types(plan: LogicalPlan) -> None:
    """DefinitionError for a column that a reader groups by and that cannot be a key."""
    for emitter in plan.components:
        for stream in emitter.outputs:
            for reader, edge in plan.consumers(emitter.name, stream.name) if stream.schema else ():
                for field in arrow_schema(stream.schema):
                    if field.name in edge.grouping.fields:
                        where = f"bolt {reader.name!r} groups {emitter.name!r} by {field.name!r}"
                        _check_key_type(where, field)


def _check_key_type(where: str, field: Any) -> None:
    try:
        converter(field.type)
    except TypeError as error:
        msg = f"{where}: {error}"
        raise DefinitionError(msg) from None


def pyarrow() -> Any:
    """The package; DefinitionError if it is not installed."""
    try:
        import numpy  # noqa: F401 - asked for, and used elsewhere
        import pyarrow as pa
    except ImportError as error:
        msg = f"columns need pyarrow and numpy: {error}"
        raise DefinitionError(msg, hint="pip install 'heron-py[columns]'") from None
    return pa
