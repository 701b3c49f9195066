"""The formats of all that is stored: which ones this version writes and reads, and errors for others.

A format gets its next number when this version would write what earlier ones read wrongly, or not at all. A
field with a default is no reason for that.
"""

from __future__ import annotations

import re
import zlib
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from heronpy.kernel.errors import OtherCheckpointFormat, OtherFormat, OtherNodeFormat

T = TypeVar("T")

#: this version of heronpy; a constant, because code that was shipped to another machine may have no metadata
RELEASE: Final = "0.1.0"


class Head(msgspec.Struct, frozen=True):
    """What stands in front of the fields of a JSON object that is stored.

    Absent: format 1, from before it was written down.
    """

    format: int = 1
    heronpy: str = ""


class Compressed(Head, frozen=True):
    """What is stored in place of a long JSON object: its fields, compressed."""

    deflated: bytes = b""


#: bytes of JSON from which on it is compressed, where its format has a number for that
LONG: Final = 64 * 1024

#: the most bytes that compressed JSON may have: a few damaged ones must not take all memory
LONGEST: Final = 256 * 1024 * 1024


class Format(NamedTuple):
    """One kind of thing that is stored."""

    written: int
    read: frozenset[int]
    error: type[OtherFormat] = OtherFormat
    #: the number of long JSON, which is compressed; 0 where none is
    compressed: int = 0

    def check(self, found: int, by: str, what: str) -> None:
        """OtherFormat with the version that reads it, unless this one does."""
        if found not in self.read:
            known = " and ".join(map(str, sorted(self.read)))
            writer = f"heronpy {by}" if by else "another heronpy"
            msg = (
                f"{what} was written in format {found} by {writer};"
                f" this is heronpy {RELEASE}, which reads format {known}"
            )
            raise self.error(msg, hint=f"use heronpy {by}" if by else "use the version that wrote it")

    def encode(self, value: Any) -> bytes:
        """The JSON of a struct, the format in front of its fields."""
        fields = msgspec.json.encode(value)
        if self.compressed and len(fields) >= LONG:
            return msgspec.json.encode(Compressed(self.compressed, RELEASE, zlib.compress(fields)))
        head = msgspec.json.encode(Head(self.written, RELEASE))
        return head if fields == b"{}" else head[:-1] + b"," + fields[1:]

    def decode(self, data: bytes, kind: type[T], what: str, *, any_format: bool = False) -> T:
        """The struct in the JSON; OtherFormat if this version does not read it, DecodeError if there is none.

        `any_format` is for what ends a topology: it compares what it finds with the processes that it sees.
        """
        head = msgspec.json.decode(data, type=Head)
        if not any_format:
            self.check(head.format, head.heronpy, what)
        if self.compressed and head.format == self.compressed:
            data = _inflated(msgspec.json.decode(data, type=Compressed).deflated)
        return msgspec.json.decode(data, type=kind)

    def is_other(self, data: bytes) -> bool:
        """Whether its header has a format that this version does not read."""
        try:
            return msgspec.json.decode(data, type=Head).format not in self.read
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False

    def first_line(self, word: str) -> bytes:
        """In front of bytes that are no JSON."""
        return f"heronpy {word} {self.written} {RELEASE}\n".encode()

    def behind_line(self, data: bytes, word: str, what: str) -> int:
        """Where the bytes behind that line begin; 0 if there is none. OtherFormat as for `decode`."""
        line = re.match(rb"heronpy %s (\d{1,9}) ([\w.+]{1,40})\n" % word.encode(), data)
        if line is None:
            return 0
        self.check(int(line[1]), line[2].decode(), what)
        return line.end()


def _inflated(deflated: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(deflated, LONGEST)
    except zlib.error as error:
        msg = f"its compressed fields are damaged: {error}"
        raise msgspec.DecodeError(msg) from error
    if not stream.eof:
        msg = f"its compressed fields are cut short, or longer than {LONGEST} bytes"
        raise msgspec.DecodeError(msg)
    return data


_FIRST: Final = frozenset({1})

#: values of the nodes of the state tree
NODE: Final = Format(1, frozenset({1, 2}), OtherNodeFormat, compressed=2)
#: what the state managers `localfs` and `zookeeper` put around a value
RECORD: Final = Format(1, _FIRST, OtherNodeFormat)
#: manifests of checkpoints, and the references beside them
MANIFEST: Final = Format(1, _FIRST, OtherCheckpointFormat)
#: objects with the state of a task, and all that is in them
STATE_OBJECT: Final = Format(1, _FIRST, OtherCheckpointFormat)
#: how the sinks of heronpy name what they have prepared
HANDLE: Final = Format(1, _FIRST, OtherCheckpointFormat)
#: launch files, and how they travel to other machines
LAUNCH: Final = Format(1, _FIRST)
#: which process leads a container, as its machine remembers it
SESSION: Final = Format(1, _FIRST)
#: what Spark and a topology leave for each other in the checkpoint store
SPARK: Final = Format(1, _FIRST)

#: of frames and control messages: all processes of a topology speak the same
PROTOCOL: Final = 2


def check_protocol(topology: str, spoken: int, by: str) -> None:
    """OtherFormat unless this version speaks what the processes of a topology speak."""
    if spoken != PROTOCOL:
        msg = (
            f"the processes of {topology!r} speak protocol {spoken} of heronpy {by};"
            f" this is heronpy {RELEASE}, which speaks protocol {PROTOCOL}"
        )
        raise OtherFormat(msg, hint=f"use heronpy {by}")
