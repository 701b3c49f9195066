"""Requests through the state tree: a node each, removed when it is done, with an error when it failed."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from heronpy.kernel.errors import DamagedNode, NodeMissing, OtherFormat, StateError
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.tree.registrations import needed


class RequestNode(msgspec.Struct, frozen=True, kw_only=True):
    """The value of such a node."""

    #: why the request failed
    error: str = ""


R = TypeVar("R", bound=RequestNode)


def unanswered(state: StateManager, folder: str, kind: type[R]) -> list[tuple[str, R]]:
    """Path and value of every request in this folder that is to be answered.

    One that cannot be read is removed: its sender takes that for the answer, and does not wait in vain.
    """
    found = []
    for name in state.children(folder):
        path = f"{folder}/{name}"
        try:
            request = needed(state, path, kind)
        except NodeMissing:
            continue
        except (DamagedNode, OtherFormat):
            state.delete(path)
            continue
        if not request.error:
            found.append((path, request))
    return found


def answer_request(state: StateManager, path: str, request: RequestNode, error: str = "") -> None:
    """Remove the node, or write into it why the request failed."""
    try:
        if error:
            failed = msgspec.structs.replace(request, error=error)
            state.set(path, NODE.encode(failed), version=state.get(path).version)
        else:
            state.delete(path)
    except StateError:
        return  # the sender has given up and removed it


def answer_to(state: StateManager, path: str, kind: type[RequestNode]) -> str | None:
    """None before the answer, then the reason why the request failed, empty if it was done."""
    try:
        return needed(state, path, kind).error or None
    except NodeMissing:
        return ""
    except DamagedNode:
        return None  # unanswered() removes it
