"""The uploading interface: how what containers need gets to the machines where they run."""

from __future__ import annotations

import abc
from typing import ClassVar

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UploadError
from heronpy.kernel.names import NAME


class Uploader(abc.ABC):
    """Keeps what containers need where all machines can get it. Selected by `upload.uploader`.

    Content-addressed: a name is made of the sha256 of what it names, so an object never changes, and the
    receiver can check that it is complete. Raise an UploadError that says what to do when the place cannot be
    reached or is full.
    """

    #: further installed distributions that containers need for it
    distributions: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def initialize(self, config: Config) -> None:
        """Called once, first. Where to keep things is `upload.path`, whatever that means to the uploader."""

    @abc.abstractmethod
    def put(self, name: str, path: str) -> str:
        """Upload the file unless an object of that name and of its size is there; returns the object's URL.

        All or nothing: until it is complete no reader sees any of it. Check the name with `checked_upload`.
        """

    @abc.abstractmethod
    def get(self, url: str, path: str) -> None:
        """Download what `put` gave this URL, in place of the file at the path: all of it, or nothing.

        Called on any machine, with the settings of the one that put. The caller compares the sha256.
        """

    @abc.abstractmethod
    def delete(self, name: str) -> None:
        """Remove an object. A missing one is no error."""

    @abc.abstractmethod
    def names(self) -> list[str]:
        """The names of all complete objects, sorted."""

    def close(self) -> None:  # noqa: B027 - optional
        """Called once, last."""


def checked_upload(name: str) -> str:
    """The name itself, or an UploadError: it becomes a file's name, as in kernel.names."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        msg = (
            f"{name!r} cannot be the name of an upload: use letters, digits, '_', '-' or '.',"
            " not starting with '.' or '-'"
        )
        raise UploadError(msg)
    return name
