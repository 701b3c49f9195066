"""Makes message types ready for use by several threads at once."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


def prepare_structs() -> None:
    """Have msgspec learn all that it needs of every Struct of ours that is imported.

    It does so when a type is first decoded, and two threads that do that at once end the process with
    a segmentation fault (msgspec 0.22): `heronpy list` crashed every other time with two topologies. Called
    before a second thread decodes; all of them take 20 ms.
    """
    for struct in _subclasses(msgspec.Struct):
        if struct.__module__.startswith("heronpy."):
            msgspec.json.Decoder(struct)


def _subclasses(cls: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)
