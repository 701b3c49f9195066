"""What Spark hands to a topology: batches of Arrow pieces, each with a manifest that makes it one thing.

A *batch* is what one micro-batch of a query, or one write, has for the topology. Its pieces are written
first, then the manifest that names them, so that the batch becomes visible atomically. A spout deletes each
piece that it has taken over for good. When no piece is left of a batch and of the batches before it, a mark
is written and then the manifest is deleted. So a batch with neither manifest nor mark, looked up in this
order, has never been there. A mark stands for all batches of its query up to that one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from heronpy.kernel.formats import SPARK
from heronpy.spark.shelf import Shelf

#: below the component's own prefix
INGEST: Final = "ingest"
#: the object that says among how many splits pieces are to be spread
SPLITS: Final = "splits"
PIECES: Final = "data/"
MANIFESTS: Final = "batches/"
MARKS: Final = "acked/"

#: a write that is never repeated: it leaves no mark
_ONCE: Final = "once-"


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """An object with an Arrow stream."""

    name: str
    rows: int
    split: int


class Pieces(msgspec.Struct, frozen=True):
    """The manifest of a batch."""

    pieces: list[Piece]


class Batch(NamedTuple):
    """Which one: the same after a restart of the query, so that it is not taken over twice."""

    query: str
    number: int

    @property
    def pieces(self) -> str:
        """Beginning of the names of its pieces, and of what failed attempts have left."""
        return f"{PIECES}{self.query}/{self.number:010d}/"

    @property
    def manifest(self) -> str:
        return f"{MANIFESTS}{self.query}/{self.number:010d}"

    @property
    def mark(self) -> str:
        return f"{MARKS}{self.query}/{self.number:010d}"

    @property
    def leaves_mark(self) -> bool:
        return not self.query.startswith(_ONCE)


def of_query(query: str, number: int) -> Batch:
    return Batch(f"query-{query}", number)


def of_write(token: str, name: str = "") -> Batch:
    """A write on its own; one with a name happens once, however often it is repeated."""
    return Batch(f"named-{name}" if name else f"{_ONCE}{token}", 0)


def parse(name: str, kind: str) -> Batch:
    query, _, number = name.removeprefix(kind).rpartition("/")
    return Batch(query, int(number))


def parse_piece(name: str) -> Batch:
    return parse(name.rpartition("/")[0], PIECES)


def waiting(shelf: Shelf, query: str = "") -> list[Batch]:
    """The batches that have a manifest, oldest first in each query."""
    folder = f"{MANIFESTS}{query}/" if query else MANIFESTS
    return sorted(parse(name, MANIFESTS) for name in shelf.names(folder))


def marked(shelf: Shelf, query: str = "") -> dict[str, int]:
    """Of each query, the newest batch that has been taken over."""
    folder = f"{MARKS}{query}/" if query else MARKS
    # sorted, so the newest is the last
    return dict(parse(name, MARKS) for name in shelf.names(folder))


def has_been(shelf: Shelf, batch: Batch) -> bool:
    """Whether it waits for the topology, or has been taken over."""
    return shelf.has(batch.manifest) or marked(shelf, batch.query).get(batch.query, -1) >= batch.number


def publish(shelf: Shelf, batch: Batch, written: Iterable[tuple[str, int]], splits: int) -> None:
    """Make a batch of pieces (name, rows), dealt to the splits in turn."""
    first = int.from_bytes(hashlib.sha256(f"{batch.query}/{batch.number}".encode()).digest()[:4], "big")
    pieces = [Piece(name, rows, (first + turn) % splits) for turn, (name, rows) in enumerate(sorted(written))]
    shelf.write(batch.manifest, SPARK.encode(Pieces(pieces)))


def read_manifest(shelf: Shelf, batch: Batch) -> list[Piece] | None:
    data = shelf.find(batch.manifest)
    return None if data is None else SPARK.decode(data, Pieces, batch.manifest).pieces


def take_over(shelf: Shelf, batch: Batch, pieces: Iterable[Piece]) -> None:
    """These pieces of it are the topology's for good. May be repeated."""
    for piece in pieces:
        shelf.delete(piece.name)
    manifest = read_manifest(shelf, batch)
    if manifest is not None:
        finish(shelf, batch, manifest)


def finish(shelf: Shelf, batch: Batch, manifest: Iterable[Piece]) -> bool:
    """If no piece is left, nothing else of the batch is needed either; but that it has been there.

    Not before those in front of it, whose rows may be other tasks': its mark would be theirs too.
    """
    left = shelf.names(batch.pieces)
    if {piece.name for piece in manifest}.intersection(left):
        return False
    if any(other < batch for other in waiting(shelf, batch.query)):
        return False
    if batch.leaves_mark:
        shelf.write(batch.mark, b"")
        for name in shelf.names(f"{MARKS}{batch.query}/"):
            if name < batch.mark:
                shelf.delete(name)
    # with what failed attempts have left, of earlier batches too
    every = shelf.names(f"{PIECES}{batch.query}/")
    withdraw(shelf, batch, [name for name in every if parse_piece(name) <= batch])
    return True


def withdraw(shelf: Shelf, batch: Batch, pieces: Iterable[str]) -> None:
    """Remove a batch that must not be read, its manifest last."""
    for name in pieces:
        shelf.delete(name)
    shelf.delete(batch.manifest)
