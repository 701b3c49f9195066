"""Polls the status of some topologies over connections that stay open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from heronpy.cli.reading.topologies import ANSWER_TIMEOUT
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.paths import Tree


class PolledTopologies:
    """A client for each topology; one that is killed is left out from then on."""

    def __init__(self, state: StateManager, topologies: Iterable[str]) -> None:
        self._state = state
        self.topologies = list(topologies)
        self._clients: dict[str, MasterClient] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        for name in self.topologies:
            self._clients[name] = self._open.enter_context(MasterClient(self._state, name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def statuses(self) -> list[TopologyStatus]:
        return [
            client.status(ANSWER_TIMEOUT)
            for name, client in self._clients.items()
            if self._state.exists(Tree(name).execution)
        ]
