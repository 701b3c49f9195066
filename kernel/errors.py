"""Errors, named by how the caller should react to them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HeronError(Exception):
    """Anything this engine raises on purpose."""


class UserError(HeronError):
    """The user's input is wrong: shown as one line that says what to do, without a traceback."""

    exit_code = 1
    #: frames of the user's own code, shown above that line
    traceback = ""
    #: whether the line names the place itself, so that nothing is added to it
    placed = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message} (try: {hint})" if hint else message)


class UsageError(UserError):
    """The command itself is wrong (an unknown flag or name)."""

    exit_code = 2


class TimedOut(UserError):
    """Something did not happen in the time it was given."""

    exit_code = 3


class TopologyError(UserError):
    """A topology that cannot run; the message names the component and the field."""


class KeyNotOwned(UserError):
    """A key of `self.state` that belongs to another task. Not a KeyError: it is not just absent."""


class PackingError(UserError):
    """No packing plan satisfies the request; the message names what does not fit."""


class ConfigError(UsageError):
    """A setting that is unknown or has the wrong type."""


class PluginError(UserError):
    """A plugin that cannot be found or does not keep its interface."""


class StateError(UserError):
    """The state tree refused an operation."""


class NodeMissing(StateError):
    """The node is not there."""


class DamagedNode(StateError):
    """The node is there, and what it holds cannot be read. That is not missing: decide nothing by it."""

    def __init__(self, path: str, why: str, *, version: int | None = None) -> None:
        self.path, self.why = path, why
        #: of bytes that the store gives as they are, and that mean nothing
        self.version = version
        #: without what to do
        self.what = f"the node {path} of the state tree is damaged ({why})"
        topology = path.split("/")[1]
        super().__init__(self.what, hint=f"heronpy status {topology}")


class NodeExists(StateError):
    """The node is there already."""


class VersionConflict(StateError):
    """Another process changed the node first: read it again, then decide again."""


class StoreError(UserError):
    """The checkpoint store refused an operation."""


class ObjectMissing(StoreError):
    """The checkpoint store has no object of that name."""


class UploadError(UserError):
    """What containers need could not be kept for them, or not be fetched."""


class CheckpointDamaged(UserError):
    """What was saved is not what is there: an object is missing, or its checksum differs."""


class OtherFormat(UserError):
    """What is stored was written by a version of heronpy whose formats this one does not read."""


class OtherNodeFormat(OtherFormat, StateError):
    """… in the state tree."""


class OtherCheckpointFormat(OtherFormat, CheckpointDamaged):
    """… in a checkpoint."""


class PeerLost(HeronError):
    """The other side is gone for now: retry."""


class ProtocolError(HeronError):
    """Bytes that do not follow the protocol: drop them, count them, name the peer."""


class MessageTooLarge(HeronError):
    """A message above the size limit. It was not sent, and trying again will not help."""


class TupleTooLarge(UserError):
    """One tuple is larger than a frame may be."""

    def __init__(self, what: str, where: str = "", *, stream: str = "") -> None:
        self.what = what
        #: that it was emitted on
        self.stream = stream
        super().__init__(what + where, hint="emit smaller tuples, or pass --set transport.frame_bytes=64MB")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"` when something close is known, else the list of what is known."""
    names = sorted(known)
    if close := close_to(word, names):
        return f"; did you mean {close!r}?"
    return f" (known: {', '.join(names)})" if names else ""


def close_to(word: str, known: Iterable[str]) -> str:
    """The known word that this one may be a misspelling of; empty if there is none."""
    return next(iter(difflib.get_close_matches(word, sorted(known), n=1)), "")
