"""Decides on each tuple of a careful task: process it, keep it aside, or stand still."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from heronpy.instances.excerpts import shown
from heronpy.instances.output.codec import Codec
from heronpy.instances.poison.history import HistoryFile
from heronpy.instances.poison.mark import BUSY, DIGEST_BYTES, IDLE, NAMED, Cells, unseen
from heronpy.kernel.machine.private import private
from heronpy.tuple import Tuple

log = logging.getLogger(__name__)

#: bytes of a tuple that is kept aside whole; of a larger one only the beginning of its repr is kept
MOST_BYTES = 64 * 1024
#: seconds for which a task is careful after a death, at least: the tuple may come again late
CAREFUL = 60.0


class PoisonSettings(NamedTuple):
    """What is done with a tuple that a task has died on so many times in a row."""

    mode: Literal["stop", "skip"]
    deaths: int
    #: seconds for which a task is careful after a death
    careful: float = CAREFUL


class Halted(BaseException):
    """The tuple is not to be processed, and nothing behind it."""


class Unguarded:
    """The guard of a task without poison detection."""

    careful = False

    def __init__(self) -> None:
        self.cells: Cells = unseen()


class Guard:
    """All that one task knows of deadly tuples. Only a careful one pays for each tuple."""

    def __init__(
        self,
        cells: Cells,
        file: HistoryFile,
        aside: Path,
        settings: PoisonSettings,
        codec: Codec,
        clock: Callable[[], float],
        *,
        died: bool,
    ) -> None:
        self.cells = cells
        self._file = file
        self._aside = aside
        self._settings = settings
        self._codec = codec
        self._clock = clock
        self._deaths = {bytes.fromhex(name): count for name, count in file.read().deaths.items()}
        self.careful = died or bool(self._deaths)
        self._until = clock() + settings.careful
        #: called with a description of each refused tuple
        self.on_refused: Callable[[str], None] = lambda _: None

    def relax(self) -> None:
        """Be careful no longer, if there was no death for long and no tuple is known to be deadly."""
        deadly = any(count >= self._settings.deaths for count in self._deaths.values())
        if not deadly and self._clock() > self._until:
            self.careful = False

    def admits(self, tup: Tuple) -> bool:
        """Whether to process it; if so, it is written down. Halted if nothing may be from here on."""
        row = self._encoded(tup.values)
        digest = _digest(tup, row)
        deaths = self._deaths.get(digest, 0)
        if deaths >= self._settings.deaths:
            self._refuse(tup, row, deaths)
            return False
        self.cells[1:] = digest
        self.cells[0] = NAMED
        return True

    def passed(self) -> None:
        """The tuple that was admitted last has been processed."""
        self.cells[0] = BUSY
        if self._deaths:
            digest = bytes(self.cells[1:])
            if self._deaths.pop(digest, 0):
                with _best_effort():
                    self._file.change(lambda history: history.after_success(digest))

    def _encoded(self, values: Sequence[Any]) -> bytes:
        settled = self._codec.settled
        plain = all(type(value) in settled for value in values)
        return self._codec.encode([tuple(values) if plain else self._codec.freeze(tuple(values))])

    def _refuse(self, tup: Tuple, row: bytes, deaths: int) -> None:
        self.cells[0] = IDLE
        values = shown(tuple(tup.values))
        what = f"{values} of stream {tup.stream!r} from {tup.component} (task {tup.task}), {deaths} deaths"
        with _best_effort():
            self._file.change(lambda history: history.after_refusal(what))
        self.on_refused(what)
        if self._settings.mode == "stop":
            raise Halted
        with _best_effort():
            _append(self._aside, _Aside(tup.component, tup.task, tup.stream, deaths, values, _text(row)))
        self.cells[0] = BUSY


class _Aside(msgspec.Struct):
    """One line of the file with the tuples that were kept aside."""

    component: str
    task: int
    stream: str
    deaths: int
    values: str
    #: MessagePack of [values], base64; empty where that is too long
    data: str


def _digest(tup: Tuple, row: bytes) -> bytes:
    """The same for the same values on the same stream, whichever task of the component they come from."""
    stream = _stream_digest(tup.component, tup.stream)
    return hashlib.blake2b(row, digest_size=DIGEST_BYTES, person=stream).digest()


@functools.cache
def _stream_digest(component: str, stream: str) -> bytes:
    name = f"{component}\0{stream}".encode()
    return hashlib.blake2b(name, digest_size=hashlib.blake2b.PERSON_SIZE).digest()


def _text(row: bytes) -> str:
    return base64.b64encode(row).decode() if len(row) <= MOST_BYTES else ""


@contextlib.contextmanager
def _best_effort() -> Iterator[None]:
    """A full disk is no reason to end a task that goes on without what could not be written."""
    try:
        yield
    except OSError as error:
        log.warning("cannot record a poison tuple: %s", error)


def _append(path: Path, entry: _Aside) -> None:
    with open(path, "ab", opener=private) as file:
        file.write(msgspec.json.encode(entry) + b"\n")
