"""What steps keep of a key, as checkpoints have it."""

from __future__ import annotations

from typing import Any, ClassVar


class Kept:
    """A state that is saved as the values of its slots, in their order and without their names."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), *(getattr(self, slot) for slot in self.__slots__))


def _again(cls: type[Kept], *values: Any) -> Kept:
    made = cls.__new__(cls)
    for slot, value in zip(cls.__slots__, values, strict=True):
        setattr(made, slot, value)
    return made
