"""The readers of a sink and their offsets: segments that all of them have read are deleted."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from typing import Final

import msgspec

from heronpy.kernel.errors import ObjectMissing, UserError
from heronpy.kernel.formats import SPARK
from heronpy.spark.options import Options
from heronpy.spark.segments import COMMITTED, DATA, Offset, Span, common, useless
from heronpy.spark.shelf import Shelf

READERS: Final = "readers/"


class Place(msgspec.Struct, frozen=True):
    """The object readers/NAME: written by the query that reads under this name, and by no other."""

    #: of the process that reads: a query that another one has replaced stops
    token: str
    #: what is behind this offset is not needed any more
    done: dict[str, Span] = {}


class Reader:
    """One query's place in a sink. A query without a remembered offset continues where this one was.

    A new reader registers before it reads the other places, and a deleting reader writes its offset before it
    lists the readers. So at least one of the two sees the other: no reader begins with segments that are
    about to be deleted.
    """

    def __init__(self, shelf: Shelf, name: str) -> None:
        self._shelf = shelf
        self._name = name
        self._object = f"{READERS}{name}"
        self._token = secrets.token_hex(8)
        self._entered = False

    def enter(self, *, new: bool) -> Offset:
        """Take the place. Returns where a query begins that remembers no offset; only that may be `new`."""
        before = self._read()
        if before is None and not new:
            raise self._lost()
        if before is not None:
            done: Offset = before.done
            if not self._entered:
                self._write(done)
        else:
            self._write({})
            others = [place.done for name, place in self._places().items() if name != self._name]
            done = common(others) if others else {}
            self._write(done)
        self._entered = True
        return done

    @property
    def entered(self) -> bool:
        return self._entered

    def check(self) -> None:
        """UserError if another query has this place now, or it is gone: the segments may be for another."""
        place = self._read()
        if place is None:
            raise self._lost()
        if place.token != self._token:
            msg = f"another query reads as {self._name!r} now, and this one stops"
            raise UserError(msg, hint='set .option("reader", …) to a different name in each query')

    def commit(self, end: Offset) -> None:
        """All up to this offset has been processed: delete what no reader needs. Idempotent."""
        self.check()
        self._write(end)
        clear(self._shelf)

    def _lost(self) -> UserError:
        msg = f"reader {self._name!r} is not registered: the segments were cleared, or it was forgotten"
        return UserError(msg, hint="use a new checkpointLocation, to begin with the segments that are there")

    def _read(self) -> Place | None:
        data = self._shelf.find(self._object)
        return None if data is None else SPARK.decode(data, Place, self._object)

    def _write(self, done: Offset) -> None:
        place = Place(self._token, dict(done))
        self._shelf.write(self._object, SPARK.encode(place))

    def _places(self) -> Mapping[str, Place]:
        return places(self._shelf)


def places(shelf: Shelf) -> dict[str, Place]:
    """All readers that are known."""
    found = {}
    for name in shelf.names(READERS):
        with contextlib.suppress(ObjectMissing):  # forgotten this moment
            found[name.removeprefix(READERS)] = SPARK.decode(shelf.read(name), Place, name)
    return found


def clear(shelf: Shelf) -> None:
    """Delete what all readers have."""
    known = [place.done for place in places(shelf).values()]
    if known:
        marks = shelf.names(COMMITTED)
        for name in useless(marks, shelf.names(DATA), common(known)):
            shelf.delete(name)


def forget_reader(reader: str, *, topology: str, component: str, **options: str) -> None:
    """Remove a reader that will not return: nothing is kept for it any more. Options as for the source."""
    chosen = Options.parse({"topology": topology, "component": component, **options})
    shelf = chosen.open("segments")
    try:
        known = places(shelf)
        if reader not in known:
            names = ", ".join(sorted(known)) or "nobody"
            msg = f"{chosen.what('segments')} is not read by {reader!r}, but by {names}"
            raise UserError(msg)
        shelf.delete(f"{READERS}{reader}")
        clear(shelf)
    finally:
        shelf.close()
