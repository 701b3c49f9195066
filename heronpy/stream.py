"""Declared outputs, and how their tuples are spread over the tasks that read them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

from heronpy.arguments import require
from heronpy.column_schema import Schema
from heronpy.custom_grouping import ICustomGrouping
from heronpy.serializer import default_serializer


class Stream:
    """One output of a component: a name and its fields, or their Schema. Goes into `outputs`."""

    DEFAULT_STREAM_ID = "default"

    def __init__(
        self,
        fields: Sequence[str] | Schema | None = None,
        name: str = DEFAULT_STREAM_ID,
        direct: bool = False,
    ) -> None:
        #: of a stream of columns
        self.schema = fields if isinstance(fields, Schema) else None
        names = fields.names if isinstance(fields, Schema) else [] if fields is None else fields
        require(names, (list, tuple), "fields of a stream must be a list of names")
        for field in names:
            require(field, str, "a field name must be a string")
        require(name, str, "a stream name must be a string")
        require(direct, bool, "direct must be True or False")
        self.fields = list(names)
        self.stream_id = name
        self.direct = direct

    def __repr__(self) -> str:
        return f"Stream(fields={self.fields!r}, name={self.stream_id!r}, direct={self.direct!r})"


class GroupingType(enum.IntEnum):
    """The kinds of grouping."""

    SHUFFLE = 1
    ALL = 2
    LOWEST = 3
    FIELDS = 4
    NONE = 5
    DIRECT = 6
    CUSTOM = 7
    LOCAL_OR_SHUFFLE = 8


class FieldsGrouping(NamedTuple):
    """Tuples with equal values of these fields go to the same task."""

    gtype: GroupingType
    fields: list[str]


class CustomGrouping(NamedTuple):
    """A grouper of the user's: a pickled object, or the path of a class."""

    gtype: GroupingType
    python_serialized: bytes
    class_path: str = ""


AnyGrouping = GroupingType | FieldsGrouping | CustomGrouping


class Grouping:
    """The values of `inputs={spec: grouping}`."""

    #: in turn over the tasks, from a random start
    SHUFFLE = GroupingType.SHUFFLE
    #: every task gets every tuple
    ALL = GroupingType.ALL
    #: everything to the task with the lowest id
    LOWEST = GroupingType.LOWEST
    GLOBAL = GroupingType.LOWEST
    #: no preference: the same as shuffle
    NONE = GroupingType.NONE
    #: the emitter names the task, `emit(..., direct_task=…)`; the stream must be declared direct
    DIRECT = GroupingType.DIRECT
    #: shuffle over the tasks in the emitter's container if there are any, else over all
    LOCAL_OR_SHUFFLE = GroupingType.LOCAL_OR_SHUFFLE

    FIELDS = FieldsGrouping
    CUSTOM = CustomGrouping

    @classmethod
    def is_grouping_sane(cls, gtype: object) -> bool:
        """Whether this can be a value of `inputs`."""
        if isinstance(gtype, FieldsGrouping):
            return gtype.gtype is GroupingType.FIELDS and bool(gtype.fields)
        if isinstance(gtype, CustomGrouping):
            return gtype.gtype is GroupingType.CUSTOM and bool(gtype.python_serialized or gtype.class_path)
        return isinstance(gtype, GroupingType) and gtype not in (GroupingType.FIELDS, GroupingType.CUSTOM)

    @classmethod
    def fields(cls, *fields: Any) -> FieldsGrouping:
        """Tuples with equal values of these fields go to the same task."""
        names = list(fields[0]) if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else list(fields)
        for name in names:
            require(name, str, "Grouping.fields takes field names")
        if not names:
            msg = "Grouping.fields needs at least one field name"
            raise ValueError(msg)
        return FieldsGrouping(GroupingType.FIELDS, names)

    @classmethod
    def custom(cls, customgrouper: Any) -> CustomGrouping:
        """A user-defined grouping: an ICustomGrouping object, its class, or the path of its class."""
        if isinstance(customgrouper, str):
            return CustomGrouping(GroupingType.CUSTOM, b"", customgrouper)
        if isinstance(customgrouper, type) and issubclass(customgrouper, ICustomGrouping):
            path = f"{customgrouper.__module__}.{customgrouper.__qualname__}"
            return CustomGrouping(GroupingType.CUSTOM, b"", path)
        if isinstance(customgrouper, ICustomGrouping):
            return cls.custom_serialized(default_serializer.serialize(customgrouper), is_java=False)
        msg = (
            f"Grouping.custom takes an ICustomGrouping object or the path of its class, got {customgrouper!r}"
        )
        raise TypeError(msg)

    @classmethod
    def custom_serialized(cls, serialized: bytes, is_java: bool = True) -> CustomGrouping:
        """A grouping from the pickle of an ICustomGrouping object."""
        if is_java:
            msg = "a Java grouping cannot run here: write it in Python and use Grouping.custom"
            raise NotImplementedError(msg)
        require(serialized, bytes, "custom_serialized takes bytes")
        return CustomGrouping(GroupingType.CUSTOM, serialized)
