"""The columns that a sink writes or a spout takes, with types that Arrow and Spark both know."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError
from heronpy.spark.packages import arrow
from heronpy.spark.shelf import Shelf

#: where it lies beside segments or batches
SCHEMA = "schema"

_HINT = "pass schema={'word': 'string', 'count': 'int64', 'at': 'timestamp'}, or a pyarrow.Schema"
#: names for what is written most often; all that pyarrow.type_for_alias knows will do as well
_NAMES = {"timestamp": "timestamp[us, tz=UTC]", "text": "string", "integer": "int64", "number": "float64"}


def encoded(schema: Any) -> Any:
    """A schema as it may stand in a config: names of types as they are, Arrow's own as text."""
    if schema is None or isinstance(schema, str):
        return schema
    if isinstance(schema, Mapping) and all(isinstance(kind, str) for kind in schema.values()):
        return dict(schema)
    pa = arrow()
    made = schema if isinstance(schema, pa.Schema) else pa.schema(list(dict(schema).items()))
    return base64.b64encode(made.serialize().to_pybytes()).decode()


def names(schema: Any) -> list[str]:
    """The names of the columns of what `encoded` returned."""
    return list(schema) if isinstance(schema, Mapping) else list(_decoded(schema).names)


def declared(config: Mapping[str, Any], key: str, component: str) -> Any:
    """The pyarrow.Schema in a component's config, with types that Spark can read."""
    found = config.get(key)
    if not found:
        msg = f"{component!r} needs a schema: the columns and their types"
        raise DefinitionError(msg, hint=_HINT)
    pa = arrow()
    if isinstance(found, str):
        return _checked(_decoded(found), component)
    fields = [(name, _type(kind, name, component)) for name, kind in encoded_mapping(found).items()]
    return _checked(pa.schema(fields), component)


def encoded_mapping(found: Any) -> Mapping[str, str]:
    if not isinstance(found, Mapping):
        msg = f"a schema is a mapping of columns to types, got {found!r}"
        raise DefinitionError(msg, hint=_HINT)
    return found


def _decoded(text: str) -> Any:
    pa = arrow()
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _type(kind: str, name: str, component: str) -> Any:
    pa = arrow()
    wanted = _NAMES.get(kind, kind)
    if wanted.startswith("timestamp[us, tz="):
        return pa.timestamp("us", wanted.removeprefix("timestamp[us, tz=").rstrip("]"))
    try:
        return pa.type_for_alias(wanted)
    except ValueError:
        msg = f"column {name!r} of {component!r} has the type {kind!r}, which Arrow does not know"
        raise DefinitionError(
            msg, hint="use string, int64, double, bool, binary, date32 or timestamp"
        ) from None


def _checked(schema: Any, component: str) -> Any:
    seen: set[str] = set()
    for field in schema:
        if field.name.lower() in seen:
            msg = f"{component!r} has two columns that Spark calls {field.name!r}"
            raise DefinitionError(msg)
        seen.add(field.name.lower())
        if not _known_to_spark(field.type):
            msg = (
                f"column {field.name!r} of {component!r} has the type {field.type}, which Spark does not know"
            )
            raise DefinitionError(msg, hint=f"use {_instead(field.type)}")
    return arrow().schema([field.with_nullable(True).remove_metadata() for field in schema])


def _known_to_spark(kind: Any) -> bool:
    types = arrow().types
    if types.is_list(kind):
        return _known_to_spark(kind.value_type)
    if types.is_struct(kind):
        return all(_known_to_spark(field.type) for field in kind)
    if types.is_map(kind):
        return _known_to_spark(kind.key_type) and _known_to_spark(kind.item_type)
    if types.is_timestamp(kind):
        return bool(kind.unit == "us" and kind.tz in (None, "UTC"))
    plain = (
        *(types.is_boolean, types.is_signed_integer, types.is_float32, types.is_float64),
        *(types.is_string, types.is_binary, types.is_date32, types.is_decimal128),
    )
    return any(is_one(kind) for is_one in plain)


def _instead(kind: Any) -> str:
    types = arrow().types
    if types.is_timestamp(kind):
        return "timestamp[us] or timestamp[us, tz=UTC]"
    return "int64" if types.is_integer(kind) else "string"


def keep(shelf: Shelf, schema: Any, whose: str) -> None:
    """Put the schema where Spark finds it, or make sure that it is the one that is there."""
    data = shelf.find(SCHEMA)
    if data is None:
        shelf.write(SCHEMA, schema.serialize().to_pybytes())
        return
    before = decoded(data)
    if not before.equals(schema, check_metadata=True):
        msg = f"{whose} has the schema {shown(schema)}, and what it has written before has {shown(before)}"
        raise TopologyError(msg, hint="give it another name, or run heronpy kill without --keep-checkpoints")


def decoded(data: bytes) -> Any:
    pa = arrow()
    return pa.ipc.read_schema(pa.py_buffer(data))


def shown(schema: Any) -> str:
    """(word: string, count: int64)."""
    return f"({', '.join(f'{field.name}: {field.type}' for field in schema)})"


def to_spark(schema: Any) -> Any:
    """As a StructType of PySpark."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)
