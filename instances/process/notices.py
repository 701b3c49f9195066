"""What the Stream Manager has told a process: the same for all its tasks."""

from __future__ import annotations

from typing import Any

import msgspec

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol import CheckpointsNotice, LiveNotice, PlanNotice, ProcessBeat, UpdateNotice
from heronpy.kernel.tree.update import Update


class Notices:
    """The newest of each. Written by the control thread, one attribute at a time; read by the tasks'."""

    def __init__(self) -> None:
        self.plan: PhysicalPlan | None = None
        self.active = True
        #: component, or "" for all → config that was given while the topology runs
        self.live_config: dict[str, dict[str, Any]] = {}
        self.checkpoints: Checkpoints | None = None
        #: the change of plan that runs, and where it leads
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        #: raised whenever any of these has changed
        self.news = 0
        self._live = LiveNotice()

    def take(self, message: object) -> None:
        if isinstance(message, PlanNotice):
            self.plan = PhysicalPlan.from_json(message.plan)
        elif isinstance(message, LiveNotice):
            self._live = message
            self.live_config = msgspec.json.decode(message.config) if message.config else {}
            self.active = message.state == "RUNNING"
        elif isinstance(message, CheckpointsNotice):
            self.checkpoints = Checkpoints.from_json(message.node)
        elif isinstance(message, UpdateNotice):
            self.next_plan = PhysicalPlan.from_json(message.next_plan) if message.next_plan else None
            self.update = Update.from_json(message.node)
        self.news += 1

    @property
    def complete(self) -> bool:
        """Whether a task can begin: the plan is known, and whether to run, and with what."""
        return self.plan is not None and bool(self._live.state) and self.checkpoints is not None

    def put_into(self, beat: ProcessBeat) -> None:
        """The beat says what has been heard; the rest is told again."""
        beat.live, beat.live_number = self._live.state, self._live.number
        if self.plan is not None:
            beat.epoch = self.plan.epoch
        if self.checkpoints is not None:
            beat.checkpoints = self.checkpoints.number
        if self.update is not None:
            beat.update = self.update.number
