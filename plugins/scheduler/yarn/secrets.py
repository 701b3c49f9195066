"""Runs in a container's folder before anything else: makes files of the secrets that YARN brought.

They travel as secret keys among the container's credentials, which YARN gives to no other. Nothing but the
standard library is there yet.
"""

import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

#: prefix of the names of heronpy's keys
PREFIX = "heronpy:"

#: what a file of credentials begins with, and the one format that Hadoop writes for containers
_MAGIC, _WRITABLE = b"HDTS", 0


def main() -> None:
    """Write each secret to a file of its name in this folder, readable by its owner only."""
    file = Path(os.environ["HADOOP_TOKEN_FILE_LOCATION"])
    file.chmod(0o600)
    with file.open("rb") as source:
        for name, secret in secrets_in(source):
            if os.sep in name:
                sys.exit(f"error: {name!r} is no name for a secret")
            with open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
                copy.write(secret)


def secrets_in(source: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Name and value of each secret of heronpy."""
    if source.read(4) != _MAGIC or source.read(1)[0] != _WRITABLE:
        sys.exit("error: YARN's credentials are in a format that is not known here")
    for _ in range(_number(source)):
        for _ in ("alias", "identifier", "password", "kind", "service"):
            _bytes(source)
    for _ in range(_number(source)):
        name, secret = _bytes(source).decode(), _bytes(source)
        if name.startswith(PREFIX):
            yield name.removeprefix(PREFIX), secret


def _bytes(source: BinaryIO) -> bytes:
    return source.read(_number(source))


def _number(source: BinaryIO) -> int:
    """A length or a count, as Hadoop's WritableUtils.writeVInt wrote it."""
    (first,) = struct.unpack("b", source.read(1))
    if first >= -112:
        return int(first)
    return int.from_bytes(source.read(-112 - first), "big")


if __name__ == "__main__":
    main()
