"""Which columns the keys of a task's tables have: those that its input is grouped by."""

from __future__ import annotations

from typing import Any

from heronpy.column_schema import Schema, arrow_schema, pyarrow
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import Component, LogicalPlan


def key_types(plan: LogicalPlan, component: Component, given: Schema | None) -> Any:
    """The Arrow schema of the keys, as given or as the streams say; DefinitionError where they differ."""
    edges = [edge for edge in component.inputs if edge.grouping.kind == "fields"]
    if not edges:
        msg = f"{component.name!r} has no tables: it reads nothing by fields grouping"
        raise DefinitionError(msg, hint="inputs={spec: Grouping.fields('name')}")
    width = len(edges[0].grouping.fields)
    if given is not None:
        if len(given.names) != width:
            fields = ", ".join(edges[0].grouping.fields)
            msg = f"a table of {component.name!r} has keys {given}, and its input is grouped by {fields}"
            raise DefinitionError(msg)
        return given.arrow
    found = []
    for edge in edges:
        stream = plan.component(edge.component).stream(edge.stream)
        assert stream is not None
        if not stream.schema:
            msg = f"stream {edge.stream!r} of {edge.component!r} has no Schema for the keys of a table"
            raise DefinitionError(msg, hint="self.state.table(name, keys=Schema(…), …)")
        found.append([_plain(arrow_schema(stream.schema).field(name)) for name in edge.grouping.fields])
    if any([field.type for field in fields] != [field.type for field in found[0]] for fields in found):
        msg = f"the keys of {component.name!r} have different types: {' and '.join(map(str, found))}"
        raise DefinitionError(msg, hint="self.state.table(name, keys=Schema(…), …)")
    return pyarrow().schema(found[0])


def _plain(field: Any) -> Any:
    """A table keeps the words of a dictionary, and takes keys of either type."""
    pa = pyarrow()
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return pa.field(field.name, kind)
