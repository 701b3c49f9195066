"""A bolt that has a process of its own waits inside emit(); what may end that wait goes through its code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from heronpy import Bolt, Grouping, Spout, Topology, Tuple
from heronpy.instances.control_events import Abandoned, EventInbox
from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.progress import Progress
from heronpy.instances.saving.run_membership import LeaveForNextRun
from heronpy.instances.task.build import build_task
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import CREDIT, DATA
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.tree.update import Update
from heronpy.testing.placing import placed

SOURCE, GREEDY, SINK = 1, 2, 3


class Words(Spout):
    outputs = ["n"]


class Greedy(Bolt):
    """Emits more than there is credit for, and catches whatever a component can catch."""

    outputs = ["n"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.story: list[str] = []

    def process(self, tup: Tuple) -> None:
        self.story.append("begins")
        try:
            for number in range(10):
                self.emit([number])
        except Exception:
            self.story.append("caught")
        self.story.append("ends")

    def close(self) -> None:
        self.story.append("closes")


class Chain(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    words = Words.spec()
    greedy = Greedy.spec(inputs=[words])
    sink = Greedy.spec(name="sink", inputs={greedy: Grouping.SHUFFLE})


class Process:
    """The process of the greedy bolt: its link, and what its control thread has received."""

    def __init__(self) -> None:
        self.stopping = False
        self.while_waiting: Callable[[], None] = lambda: None
        self.plan: PhysicalPlan | None
        self.plan, find = placed(Chain, 1)
        self.news = 0
        self.active = True
        self.checkpoints: Checkpoints | None = Checkpoints(run=1, members={GREEDY: 1})
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        self.progress = Progress()
        self.task = build_task(
            self.plan, GREEDY, 1, self, FlowSettings(batch_tuples=1, credit_initial=1), find, run=1
        )
        self.loop = OneTask(self.task, self)
        self.greedy: Any = self.task.component
        attention = EventInbox(self)
        attention.listeners.append(LeaveForNextRun(1, GREEDY, 1))
        self.task.parts.outbox.meanwhile = attention.peek
        self.task.initialize()
        self.grant(0, 1)
        frame = Sender(SOURCE, 1, self.plan.epoch, 1)
        self.task.on_frame(*frame.frame(DATA, GREEDY, PlainCodec().encode([(1,)]), tuples=1))

    def tell(self) -> None:
        pass

    def send(self, prefix: bytes, payload: bytes) -> None:
        pass

    def pump(self, timeout: float) -> None:
        if self.task.parts.outbox.held_up_by is not None:
            self.while_waiting()

    def grant(self, consumed: int, limit: int) -> None:
        assert self.plan is not None
        frame = Sender(SINK, 1, self.plan.epoch, 1).frame(CREDIT, GREEDY, Grant(1, consumed, limit).encode())
        self.task.on_frame(*frame)

    def go_back(self) -> None:
        """All tasks go back to a checkpoint."""
        self.checkpoints = Checkpoints(run=2, members={GREEDY: 1})
        self.news += 1

    def stop(self) -> None:
        self.stopping = True


def test_credit_ends_the_wait_and_the_call_goes_on() -> None:
    process = Process()
    waits: list[int | None] = []

    def give() -> None:
        waits.append(process.task.parts.outbox.held_up_by)
        process.grant(len(waits), len(waits) + 1)

    process.while_waiting = give
    process.loop.step()
    assert process.greedy.story == ["begins", "ends"]
    assert waits == [SINK] * 9


def test_a_restore_ends_the_wait_and_no_component_can_catch_it() -> None:
    process = Process()
    process.while_waiting = process.go_back
    with pytest.raises(Abandoned):
        process.loop.step()
    process.task.abandon()
    assert process.greedy.story == ["begins", "closes"]


def test_the_end_of_the_process_ends_the_wait_and_the_task_is_closed_as_any() -> None:
    process = Process()
    process.while_waiting = process.stop
    process.loop.run()
    process.task.close()
    assert process.greedy.story == ["begins", "closes"]
