"""Requests of other processes to the scheduler process, through the state tree."""

from __future__ import annotations

import secrets
import threading
import time
from typing import Literal

from heronpy.kernel.errors import TimedOut, UserError
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import reported
from heronpy.kernel.tree.request_nodes import RequestNode, answer_to, unanswered


class Request(RequestNode, frozen=True, kw_only=True):
    """Value of /NAME/requests/ID. The node goes when the request is done; a failed one gets an error."""

    #: replace is restart with the back-off of the restart policy, and without waiting for an answer
    kind: Literal["kill", "restart", "replace"]
    keep_logs: bool = False
    keep_checkpoints: bool = False
    #: keep the objects that components store themselves: they existed before this topology
    keep_objects: bool = False
    #: None for all containers
    container: int | None = None
    #: why to replace it
    reason: str = ""


def pending_requests(state: StateManager, topology: str) -> list[tuple[str, Request]]:
    """For the scheduler process: path and content of the requests to be answered."""
    return unanswered(state, Tree(topology).requests, Request)


def send_request(state: StateManager, topology: str, request: Request, *, timeout: float) -> bool:
    """Send a request and wait until it is done. False on a timeout, or if no scheduler process runs.

    Raises a UserError with the reason when it was tried and failed.
    """
    tree = Tree(topology)
    path, scheduler = f"{tree.requests}/{secrets.token_hex(8)}", tree.scheduler
    changed = threading.Event()
    deadline = time.monotonic() + timeout
    watches = [state.watch(each, changed.set) for each in (path, scheduler)]
    try:
        state.create(path, NODE.encode(request))
        while True:
            changed.clear()
            if _done(state, path):
                return True
            if not state.exists(scheduler) or not changed.wait(max(0.0, deadline - time.monotonic())):
                return _withdraw(state, path)
    finally:
        for watch in watches:
            watch.cancel()


def _withdraw(state: StateManager, path: str) -> bool:
    """Withdraw the request; True if it was done at the last moment."""
    if _done(state, path):
        return True
    state.delete(path)
    return False


def _done(state: StateManager, path: str) -> bool:
    error = answer_to(state, path, Request)
    if error:
        state.delete(path)
        raise UserError(error)
    return error is not None


def request_replacement(state: StateManager, topology: str, container: int, reason: str) -> None:
    """Request a replacement for a container that cannot be reached, without waiting."""
    request = Request(kind="replace", container=container, reason=reason)
    state.set(_replacement(topology, container), NODE.encode(request))


def withdraw_replacement(state: StateManager, topology: str, container: int) -> None:
    """The container can be reached again: cancel its replacement if it has not happened yet."""
    state.delete(_replacement(topology, container))


def _replacement(topology: str, container: int) -> str:
    return f"{Tree(topology).requests}/replace-{container}"


def request_restart(state: StateManager, topology: str, container: int | None, *, timeout: float) -> None:
    """End a container, or all of them, and start it again; returns when that has been done."""
    request, scheduler = Request(kind="restart", container=container), Tree(topology).scheduler
    if state.exists(scheduler) and send_request(state, topology, request, timeout=timeout):
        return
    if not state.exists(scheduler):
        msg = f"the scheduler's process of {topology!r} is not running"
        raise UserError(msg, hint="run the command again in a few seconds; container 0 restarts that process")
    msg = f"{topology!r} was not restarted in {timeout:g} s"
    raise TimedOut(msg, hint=f"heronpy status {topology}")


def ask_for_restart(state: StateManager, tree: Tree, name: str, container: int) -> None:
    """Request the restart of a container without waiting; idempotent for the same name."""
    request = Request(kind="restart", container=container)
    state.set(f"{tree.requests}/{name}", NODE.encode(request))


def failed_request(state: StateManager, tree: Tree, name: str) -> str:
    """Why the request of this name failed; empty if it did not, or not yet."""
    answer = reported(state, f"{tree.requests}/{name}", Request)
    return answer.error if answer is not None else ""
