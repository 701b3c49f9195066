"""The format of what a task puts into the checkpoint store: one object with sections and an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
from xxhash import xxh3_128

from heronpy.kernel.errors import CheckpointDamaged
from heronpy.kernel.formats import STATE_OBJECT

#: in the first line
_WORD: Final = "state"
_LENGTH = 4


class _Index(msgspec.Struct, array_like=True):
    """Sizes of the sections, in the order in which they follow."""

    groups: dict[int, int]
    extras: dict[str, int]


class Sections(NamedTuple):
    """What is in an object."""

    #: by key group, or by number of a spout's split
    groups: Mapping[int, bytes]
    #: what belongs to the task and to no group
    extras: Mapping[str, bytes]

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.groups or self.extras)


def write_object(sections: Sections) -> tuple[list[bytes], str]:
    """The object in pieces, and its checksum."""
    index = msgspec.msgpack.encode(
        _Index(
            {group: len(data) for group, data in sections.groups.items()},
            {name: len(data) for name, data in sections.extras.items()},
        )
    )
    head = STATE_OBJECT.first_line(_WORD) + len(index).to_bytes(_LENGTH, "little") + index
    pieces = [head, *sections.groups.values(), *sections.extras.values()]
    checksum = xxh3_128()
    for piece in pieces:
        checksum.update(piece)
    return pieces, checksum.hexdigest()


def read_object(name: str, data: bytes) -> Sections:
    """The sections of an object whose checksum is right."""
    what = f"object {name} in the checkpoint store"
    begin = STATE_OBJECT.behind_line(data, _WORD, what)
    if not begin:
        msg = f"{what} is no state of a task"
        raise CheckpointDamaged(msg, hint="choose another checkpoint")
    body = begin + _LENGTH
    start = body + int.from_bytes(data[begin:body], "little")
    index = msgspec.msgpack.decode(data[body:start], type=_Index)
    sections = _cut(data, start, [*index.groups.values(), *index.extras.values()])
    return Sections(
        {group: next(sections) for group in index.groups}, {name: next(sections) for name in index.extras}
    )


def _cut(data: bytes, start: int, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield data[start : start + size]
        start += size
