"""Looks at a running topology from inside the test, many times a second: its status and its nodes."""

from __future__ import annotations

import contextlib
import os
import signal
from types import TracebackType
from typing import Self

import psutil
from support.faults.fire import plays
from support.running.engine import Engine, wait_until
from support.running.fleet import name_of

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.config import load_config
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read
from heronpy.kernel.tree.update import CLOSED, Update

#: label of an instance → tuples that it has executed
Marks = dict[str, int]


class Watching:
    """One topology; keep it open for as long as you look."""

    def __init__(self, engine: Engine, topology: str) -> None:
        self._engine = engine
        self._state = open_state(load_config(flags={"home": str(engine.home)}, environ={}))
        self._tree = Tree(topology)
        self._client = MasterClient(self._state, topology)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()
        self._state.close()

    def status(self) -> TopologyStatus:
        return self._client.status(timeout=2.0)

    def checkpoints(self) -> Checkpoints:
        return read(self._state, self._tree.checkpoints, Checkpoints) or Checkpoints()

    def newest(self) -> int:
        """The newest complete checkpoint."""
        complete = self.checkpoints().complete
        return complete[-1].id if complete else 0

    def update(self) -> Update | None:
        return read(self._state, self._tree.update, Update)

    def updating(self) -> bool:
        update = self.update()
        return update is not None and update.phase not in CLOSED

    def plan(self) -> PhysicalPlan:
        plan = read(self._state, self._tree.physical_plan, PhysicalPlan)
        assert plan is not None
        return plan

    def marks(self) -> Marks:
        return {one.label: one.executed for one in self.status().instances}

    def flows(self, since: Marks) -> bool:
        """Whether everybody works, and all that count have counted since then.

        A process that is new begins at nothing, so fewer are as good as more.
        """
        status = self.status()
        counters = [one for one in status.instances if one.component in ("count", "total")]
        return status.state == "RUNNING" and all(
            one.executed not in (0, since.get(one.label)) for one in counters
        )

    def recover(self, what: str, timeout: float = 90.0) -> None:
        """Wait until no update runs, words flow, and at effectively once a checkpoint is complete that has
        begun since."""
        since, begun = self.marks(), self.checkpoints()
        wait_until(lambda: not self.updating(), timeout, f"{what}: the update is over", self.detail)
        wait_until(lambda: self.flows(since), timeout, f"{what}: words flow", self.detail)
        if begun.run:
            wait_until(lambda: self.newest() > begun.started, timeout, f"{what}: saved again", self.detail)

    def processes(self, role: str) -> list[psutil.Process]:
        """Who plays it now."""
        found = []
        for process in self._engine.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if plays(role, process):
                    found.append(process)
        return found

    def kill(self, role: str) -> None:
        """Kill -9 one of them."""
        wait_until(lambda: self.processes(role) != [], 30, f"there is a {role}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.processes(role)[0].pid, signal.SIGKILL)

    def wholly(self) -> dict[str, int]:
        """Instances of each component: as the plan has it, and everybody and nobody else runs."""
        plan = self.plan()
        expected = sorted(task.label for task in plan.tasks)
        wait_until(
            lambda: (
                sorted(one.label for one in self.status().instances) == expected
                and sorted(self._running()) == expected
            ),
            30,
            f"these run: {expected}",
            lambda: f"{self._running()}\n{self.detail()}",
        )
        return plan.logical.parallelism()

    def _running(self) -> list[str]:
        components = {component.name for component in self.plan().logical.components}
        running = [process for component in components for process in self.processes(f"{component}[")]
        return [name for process in running if (name := name_of(process))]

    def detail(self) -> str:
        """For a failure that must be understood from CI's output alone."""
        return f"\n{self.status()}\n{self.update()}\n{self.checkpoints()}\n{self._engine.log_tails()}"
