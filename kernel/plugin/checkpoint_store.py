"""The storage interface: where the checkpoints of a topology are kept."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from heronpy.kernel.config import Config
from heronpy.kernel.errors import StoreError
from heronpy.kernel.names import NAME


class CheckpointStore(abc.ABC):
    """Objects of bytes with names such as "wordcount/5f2a/12/3-1". Selected by `checkpoint.store`.

    All processes of a topology open one, on whatever machine they are, and must see the same objects.
    An object is written once and never changed. Used by one thread at a time, but not always the same.
    Raise a StoreError that says what to do when the store cannot be reached or is full.
    """

    #: distributions, besides the plugin's own and what that requires, that must be installed where it is used
    distributions: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def initialize(self, config: Config) -> None:
        """Called once, first. Where to keep things is `checkpoint.path`, whatever that means to the store."""

    @abc.abstractmethod
    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Make an object of the chunks, in place of one of that name. Durable when it returns.

        All or nothing: until it is complete no reader sees anything of it, and if the chunks raise or the
        process dies, no reader ever does. Check the name with `checked_object`.
        """

    @abc.abstractmethod
    def read(self, name: str) -> bytes:
        """All of the object, or ObjectMissing."""

    @abc.abstractmethod
    def names(self, prefix: str) -> list[str]:
        """The names of all complete objects that begin with the prefix, sorted.

        The list must include objects written a moment ago: an object that is not listed counts as deleted.
        If the store cannot be listed, raise a StoreError; do not return an empty list.
        """

    @abc.abstractmethod
    def delete(self, name: str) -> None:
        """Remove an object. A missing one is no error."""

    def close(self) -> None:  # noqa: B027 - optional
        """Called once, last."""


def checked_object(name: str) -> str:
    """The name itself, or a StoreError: segments as in kernel.names, with single slashes between them."""
    if not isinstance(name, str) or not all(NAME.fullmatch(segment) for segment in name.split("/")):
        msg = (
            f"{name!r} cannot be the name of an object: use letters, digits, '_', '-' or '.' between single"
            " slashes, no part beginning with '.' or '-'"
        )
        raise StoreError(msg)
    return name
