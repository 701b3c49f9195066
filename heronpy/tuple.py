"""What a bolt receives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from heronpy.kernel.errors import did_you_mean

#: attributes that mean the tuple itself, whatever its fields are called
METADATA = ("id", "component", "stream", "task", "values")


class _Row(NamedTuple):
    id: Any
    component: str
    stream: str
    task: int
    values: Sequence[Any]


class Tuple(_Row):
    """One tuple: `tup.word` or `tup["word"]` for a field, `tup.values` for all of them in order.

    It unpacks and indexes like the named tuple (id, component, stream, task, values). A field with one of
    these names is only accessible as `tup["id"]`.
    """

    __slots__ = ()

    #: field name → position in values
    _field_index: ClassVar[dict[str, int]] = {}

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not str:
            return tuple.__getitem__(self, key)
        try:
            return self.values[self._field_index[key]]
        except KeyError:
            raise KeyError(missing_field(self, key)) from None

    if TYPE_CHECKING:
        # Fields may have any name, also those of tuple's methods.
        count: Any
        index: Any

        def __getattribute__(self, name: str) -> Any: ...

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (tuple(self._field_index), tuple(self))


# Not a __getattr__ of the class: that would slow down every tup.word.
def missing_field(tup: Tuple, name: str) -> str:
    """The error message for a field that the tuple does not have."""
    whose = f"stream {tup.stream!r} of {tup.component!r}"
    return f"no field {name!r} in {whose}{did_you_mean(name, tup._field_index)}"


def _field(position: int) -> property:
    def get(self: Tuple) -> Any:
        return self.values[position]

    return property(get)


@functools.cache
def tuple_class(fields: tuple[str, ...]) -> type[Tuple]:
    """The class of a stream's tuples: one property per field that is not called like metadata."""
    body: dict[str, Any] = {
        name: _field(position)
        for position, name in enumerate(fields)
        if name not in METADATA and not name.startswith("_")
    }
    body["__slots__"] = ()
    body["__module__"] = __name__
    body["_field_index"] = {name: position for position, name in enumerate(fields)}
    return type("Tuple", (Tuple,), body)


def _rebuild(fields: tuple[str, ...], row: tuple[Any, ...]) -> Tuple:
    make: Callable[..., Tuple] = tuple.__new__
    return make(tuple_class(fields), row)


# Checkpoints contain pickled tuples of windows: the pickled name must not depend on where this module is.
_rebuild.__module__, _rebuild.__qualname__ = "heronpy", "saved_tuple"


class TupleHelper:
    """Tuples that the engine makes by itself."""

    TICK_TUPLE_ID = "__tick"
    TICK_SOURCE_COMPONENT = "__system"

    @staticmethod
    def make_tick_tuple() -> Tuple:
        """The argument of `process_tick`; no task has the id 0."""
        return Tuple(
            TupleHelper.TICK_TUPLE_ID, TupleHelper.TICK_SOURCE_COMPONENT, TupleHelper.TICK_TUPLE_ID, 0, []
        )
