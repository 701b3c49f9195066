"""What a pipeline or a spout reads from: a source in splits, each with a position to resume at."""

from __future__ import annotations

import abc
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

#: what a source gives
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)  # with slots Python 3.11 refuses `Chunk[int](…)`
class Chunk(Generic[T_co]):
    """Some records of one split, in the order of the split."""

    split: str
    #: perhaps none, if only the position or what is said below is new
    records: Sequence[T_co]
    #: behind the last record: what `Reader.assign` takes to go on from there. Made of what JSON keeps
    position: Any
    #: event time of each record, in microseconds since the epoch, if the source knows
    times: Sequence[int] | None = None
    #: nothing older follows in this split, in microseconds since the epoch, if the source knows
    watermark: int | None = None
    #: the split has nothing more for now
    caught_up: bool = False
    #: the split has nothing more, ever
    ended: bool = False


class Reader(abc.ABC, Generic[T_co]):
    """Reads the splits of one task: one consumer, one connection. Made by `Source.open`, in the task."""

    @abc.abstractmethod
    def assign(self, positions: Mapping[str, Any]) -> None:
        """Read these splits and no others from now on, each from its position; None is its beginning.

        Called before the first `poll` and again after every change of plan, with all splits of the task:
        those that stay are given the position behind the last chunk that was polled. A position that the
        source no longer has is a UserError; records are never passed over in silence.
        """

    @abc.abstractmethod
    def poll(self, most: int) -> Chunk[T_co] | None:
        """At most `most` records of one split; None if there is nothing now. Never blocks.

        Splits take turns. A split of a bounded source gives exactly one chunk with `ended` after each
        `assign`, with its last records or with none, and nothing behind it.
        """

    def silent(self) -> Collection[str]:
        """The splits that the last `poll` asked in vain, if it gave a chunk of another one.

        They are silent as far as `idle=` of event time goes; a split that was not asked is not. Where `poll`
        gives None, all splits were asked. A reader that cannot tell says none: then a silent split is
        noticed only while no other has anything.
        """
        return ()

    def committed(self, positions: Mapping[str, Any]) -> None:
        """A checkpoint with these positions is complete: no task will ask for anything before them."""

    def lag(self) -> Mapping[str, int]:
        """How much each split has that was not polled yet, in its own unit, where that is known for free."""
        return {}

    def fd(self) -> int | None:
        """A file descriptor that is readable when `poll` has something; None: poll now and then."""
        return None

    def close(self) -> None:
        """Let go of connections and files. May be called twice."""


class Source(abc.ABC, Generic[T_co]):
    """Where records come from, as plain data: it can be pickled and compared, and never connects by itself.

    ```python
    source = LineSource("access.log")
    with contextlib.closing(source.open()) as reader:
        reader.assign(dict.fromkeys(source.splits()))
        chunk = reader.poll(1000)
    ```
    """

    #: what a step that reads it is called, unless it is given a name
    name: str = "source"
    #: whether every split ends
    bounded: bool = True

    def check(self) -> None:
        """At submit: is everything there and reachable? If not, a UserError that says what to do."""

    @abc.abstractmethod
    def splits(self) -> Sequence[str]:
        """The parts that are read independently of each other, at least one; asked once, at submit."""

    @abc.abstractmethod
    def open(self) -> Reader[T_co]:
        """A reader, which reads nothing until it is assigned."""
