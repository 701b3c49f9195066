"""Asking for a restart when nobody is there to do it, or nobody listens."""

from __future__ import annotations

import threading

import pytest

from heronpy.kernel.errors import TimedOut, UserError
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.requests import request_restart

TREE = Tree("words")
GONE = "^the scheduler's process of 'words' is not running "


def test_without_a_scheduler_there_is_nobody_to_ask(state: StateManager) -> None:
    with pytest.raises(UserError, match=GONE):
        request_restart(state, "words", 1, timeout=10)


def test_a_scheduler_that_ends_meanwhile_is_not_waited_for(state: StateManager) -> None:
    state.create(TREE.scheduler, b"")
    asked = threading.Event()
    state.watch(TREE.requests, asked.set)

    def end() -> None:
        asked.wait(10)
        state.delete(TREE.scheduler)

    ending = threading.Thread(target=end)
    ending.start()
    with pytest.raises(UserError, match=GONE):
        request_restart(state, "words", 1, timeout=3600)
    ending.join()
    assert state.children(TREE.requests) == []


def test_a_scheduler_that_does_not_listen_costs_the_timeout_and_no_request_stays(
    state: StateManager,
) -> None:
    state.create(TREE.scheduler, b"")
    with pytest.raises(TimedOut, match=r"^'words' was not restarted in 0\.1 s "):
        request_restart(state, "words", 1, timeout=0.1)
    assert state.children(TREE.requests) == []
