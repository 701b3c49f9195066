"""Turns of a spout and of a bolt whose calls suddenly take long."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from support.tasks.plans import SINK, SOURCE, edge, plan_of

from heronpy import Bolt, Spout, Tuple
from heronpy.instances.control_events import ControlEvents, EventInbox
from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.process.attended_task import AttendedTask
from heronpy.instances.process.notices import Notices
from heronpy.instances.process.task_report import TaskReport
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel.flow.credit import HELLO, Grant
from heronpy.kernel.flow.frame import CREDIT, DATA, Prefix, seal, unseal


class Link:
    """Keeps what is sent; counts how often the task looked at its sockets."""

    def __init__(self) -> None:
        self.frames: list[Prefix] = []
        self.pumped = 0
        #: how long the task was ready to wait at its sockets, all together
        self.patience = 0.0
        self.stopping = False

    def send(self, prefix: bytes, payload: bytes) -> None:
        self.frames.append(unseal(prefix, payload))

    def pump(self, timeout: float) -> None:
        self.pumped += 1
        self.patience += timeout


class Stage:
    """One task, a clock, and user code that takes `cost` seconds per call."""

    def __init__(
        self, task: int, make: Callable[[Stage], type[Any]], settings: FlowSettings | None = None
    ) -> None:
        self.now = 100.0
        self.cost = 1e-6
        self.calls = 0
        self.told: list[str] = []
        self.link = Link()
        self.task: Task = build_task(
            plan_of(edge("shuffle")),
            task,
            1,
            self.link,
            settings or FlowSettings(),
            lambda _: make(self),
            lambda: self.now,
        )
        self.during_call: Callable[[], None] = lambda: None
        self.task.initialize()
        self.step = OneTask(self.task, self.link).step

    def call(self) -> None:
        self.calls += 1
        self.now += self.cost
        self.during_call()

    @property
    def sent(self) -> int:
        return sum(frame.tuples for frame in self.link.frames if frame.kind == DATA)


def spout(stage: Stage) -> type[Spout]:
    class Words(Spout):
        outputs = ["word", "n"]

        def next_tuple(self) -> None:
            stage.call()
            if stage.cost < 1:
                self.emit(["word", stage.calls])

        def activate(self) -> None:
            stage.told.append("activate")

        def deactivate(self) -> None:
            stage.told.append("deactivate")

    return Words


def bolt(stage: Stage) -> type[Bolt]:
    class Count(Bolt):
        def process(self, tup: Tuple) -> None:
            stage.call()

    return Count


def bring(stage: Stage, count: int, position: int) -> None:
    payload = PlainCodec().encode([("word", number) for number in range(count)])
    stage.task.on_frame(*seal(Prefix(DATA, SINK, SOURCE, 0, count, 1, 1, 0, position), payload))


def test_a_source_that_dries_up_keeps_nothing_back() -> None:
    """next_tuple emitted a million a second and now blocks for a second each time, as a poll does."""
    stage = Stage(SOURCE, spout)
    stage.task.on_frame(*seal(Prefix(CREDIT, SOURCE, SINK, 0, 0, 1, 1, 0, 0), HELLO.encode()))
    stage.task.on_frame(*seal(Prefix(CREDIT, SOURCE, SINK, 0, 0, 1, 1, 0, 0), Grant(1, 0, 10**9).encode()))
    for _ in range(20):
        stage.step()
    emitted, stage.cost = stage.calls, 1.0
    assert emitted > 1000
    stage.step()
    stage.step()
    assert (stage.calls - emitted, stage.sent) == (2, emitted)


def resting(stage: Stage, **answers: Callable[[Spout], float | None]) -> Callable[[], float]:
    """A spout that has nothing to emit; what is returned lets it have a turn, and says how long it rests."""
    stage.cost = 1.0  # it emits nothing
    stage.task.parts.schedule._entries.clear()
    for name, answer in answers.items():
        setattr(type(stage.task.component), name, answer)

    def step() -> float:
        before = stage.link.patience
        assert stage.step() is Turn.DONE
        return round(stage.link.patience - before, 6)

    return step


def test_a_spout_that_says_when_it_is_due_is_called_then() -> None:
    due: list[float | None] = [0.0003, 0.4, math.inf, 0.0, -1.0, 0.0003]
    stage = Stage(SOURCE, spout)
    step = resting(stage, due_in=lambda _: due.pop(0))
    assert [step() for _ in range(6)] == [0.0003, 0.4, 0.5, 0.001, 0.002, 0.0003]


def timed(stage: Stage) -> type[Spout]:
    """A tuple a millisecond, behind the second 100."""

    class Ticks(Spout):
        outputs = ["word", "n"]
        emitted = 0

        def next_tuple(self) -> None:
            stage.call()
            if self.due_in() <= 0:
                self.emitted += 1
                self.emit(["word", self.emitted])

        def due_in(self) -> float:
            return 100.001 + 0.001 * self.emitted - stage.now

    return Ticks


def test_a_spout_that_says_when_it_is_due_emits_and_rests_in_one_turn() -> None:
    stage = Stage(SOURCE, timed)
    stage.task.on_frame(*seal(Prefix(CREDIT, SOURCE, SINK, 0, 0, 1, 1, 0, 0), HELLO.encode()))
    stage.task.on_frame(*seal(Prefix(CREDIT, SOURCE, SINK, 0, 0, 1, 1, 0, 0), Grant(1, 0, 10**9).encode()))
    stage.task.parts.schedule._entries.clear()
    for number in range(1, 11):
        stage.now = 100 + 0.001 * number
        assert (stage.step(), stage.sent, stage.link.pumped) == (Turn.DONE, number, number)
        assert stage.link.patience < 0.001 * number
    stage.now += 0.0035  # late: what is due is emitted until there is no more
    while stage.step() is Turn.MORE:
        pass
    assert stage.sent == 13


def test_a_spout_whose_calls_are_counted_is_called_once_a_turn() -> None:
    """As by a test, which says how often it is called."""
    stage = Stage(SOURCE, timed, FlowSettings(spout_calls=1))
    stage.now = 200.0
    for number in range(1, 6):
        stage.step()
        assert stage.calls == number


def test_what_is_heard_inside_a_turn_is_acted_on_before_the_task_rests() -> None:
    stage, notices = Stage(SINK, bolt), Notices()
    heard: list[str] = []

    class Hearing:
        def hear(self, news: ControlEvents) -> None:
            heard.append("heard")

        def act(self) -> None:
            heard.append("acted")

    inbox = EventInbox(notices)
    inbox.listeners.append(Hearing())
    rested: Any = SimpleNamespace(waits=False)
    attended = AttendedTask(stage.task, inbox, rested, notices, TaskReport(SINK, lambda: None))

    def told_meanwhile() -> None:
        notices.news += 1
        inbox.peek()  # as emit() does that waits

    assert attended.turn() is Turn.DONE
    bring(stage, 1, 0)
    heard.clear()
    stage.during_call = told_meanwhile
    assert (attended.turn(), heard) == (Turn.MORE, ["acted", "heard"])
    stage.during_call = lambda: None
    assert (attended.turn(), heard) == (Turn.DONE, ["acted", "heard", "acted"])


def test_a_bolt_whose_input_is_worked_off_ends_its_turn() -> None:
    stage = Stage(SINK, bolt)
    for number in range(10):
        bring(stage, 1, number)
        assert (stage.step(), stage.calls, stage.link.pumped) == (Turn.DONE, number + 1, number + 1)


def test_a_spout_that_has_had_nothing_for_long_is_asked_less_often() -> None:
    stage = Stage(SOURCE, spout)
    stage.now = 100.0
    step = resting(stage)
    rests = [step() for _ in range(30)]  # a call takes a second
    assert rests[:8] == [0.001, 0.002, 0.004, 0.008, 0.016, 0.12, 0.14, 0.16]
    assert rests[-1] == 0.5


def test_a_spout_with_a_descriptor_is_called_when_that_is_readable() -> None:
    stage = Stage(SOURCE, spout)
    watched: list[int] = []

    class WatchingLink(Link):
        def watch(self, descriptor: int) -> bool:
            watched.append(descriptor)
            return len(watched) != 2  # then there is something to read, and next_tuple left it there

    stage.link = WatchingLink()
    stage.task = build_task(
        plan_of(edge("shuffle")),
        SOURCE,
        1,
        stage.link,
        FlowSettings(),
        lambda _: spout(stage),
        lambda: stage.now,
    )
    stage.step = OneTask(stage.task, stage.link).step
    step = resting(stage, fd=lambda _: 7)
    assert [step() for _ in range(3)] == [0.5, 0.001, 0.5]
    assert watched == [7, 7, 7]
    step = resting(stage, fd=lambda _: 7, due_in=lambda _: 0.25)
    watched.clear()
    assert [step() for _ in range(3)] == [0.25, 0.002, 0.25]


def test_a_spout_that_starts_paused_is_neither_asked_nor_told() -> None:
    stage = Stage(SOURCE, spout)
    stage.task.loop.set_live(False)
    stage.step()
    assert (stage.calls, stage.told) == (0, [])
    for active in (True, True, False):
        stage.task.loop.set_live(active)
    assert stage.told == ["activate", "deactivate"]


def test_a_bolt_whose_calls_begin_to_block_soon_looks_at_its_sockets_again() -> None:
    stage = Stage(SINK, bolt)
    for number in range(20):
        bring(stage, 1000, 1000 * number)
        while stage.step() is Turn.MORE:
            pass
    quick, stage.cost = stage.calls, 1.0
    bring(stage, 100, 20_000)
    pumped = stage.link.pumped
    while stage.step() is Turn.MORE:
        pass
    assert stage.calls == quick + 100
    # eight calls before the first look at the clock, one at a time from there on, and a turn without any
    assert stage.link.pumped - pumped == 1 + 92 + 1


def test_a_bolt_that_is_told_to_end_does_not_finish_its_frame_first() -> None:
    stage = Stage(SINK, bolt)
    stage.cost = 1.0
    bring(stage, 1000, 0)
    stage.link.stopping = True
    stage.step()
    assert stage.calls == 1
    counters = stage.task.parts.counters
    assert counters.executed == {("words", "default"): 1}
    assert counters.returned_at == stage.now


def test_a_spout_that_gets_no_credit_pauses_and_is_served_meanwhile() -> None:
    """next_tuple is not called, but ticks of the clock and messages are not kept waiting."""
    stage = Stage(SOURCE, spout)
    served: list[float] = []
    stage.task.parts.schedule.every(1.0, lambda: served.append(stage.now))
    for _ in range(100):
        stage.step()
    asked = stage.calls
    began = stage.now
    for _ in range(50):
        stage.now += 0.1
        stage.step()
    assert stage.calls == asked
    assert 4 <= len(served) <= 5
    assert stage.task.held_up_by() == ""  # it is not caught inside emit
    assert stage.task.parts.outbox.hold_ups.lasting() == {SINK: pytest.approx(stage.now - began, abs=0.1)}
    stage.task.on_frame(
        *seal(Prefix(CREDIT, SOURCE, SINK, 0, 0, 1, 1, 0, 0), Grant(1, asked, 10**9).encode())
    )
    stage.step()
    stage.step()
    assert stage.calls > asked
    assert stage.task.parts.outbox.hold_ups.lasting() == {}


def test_a_spout_does_not_wait_for_credit_that_has_come() -> None:
    stage = Stage(SOURCE, spout)
    while not stage.task.parts.outbox.overfull:
        stage.step()
    asked = stage.calls
    stage.task.on_frame(*seal(Prefix(CREDIT, SOURCE, SINK, 0, 0, 1, 1, 0, 0), Grant(1, 0, 10**9).encode()))
    waited = stage.link.patience
    stage.step()
    stage.step()
    assert stage.link.patience == waited
    assert stage.calls > asked


def test_a_spout_that_waits_for_credit_can_be_paused_by_its_user() -> None:
    stage = Stage(SOURCE, spout)
    stage.task.loop.set_live(True)
    for _ in range(100):
        stage.step()
    stage.task.loop.set_live(False)
    stage.step()
    assert stage.told == ["deactivate"]


def greedy(stage: Stage) -> type[Spout]:
    class Greedy(Spout):
        """Emits more in one call than anybody has credit for."""

        outputs = ["word", "n"]

        def next_tuple(self) -> None:
            stage.link.stopping = True
            for number in range(10_000):
                self.emit(["word", number])

        def close(self) -> None:
            stage.told.append("close")

    return Greedy


def test_a_task_that_is_told_to_end_while_it_waits_for_credit_is_closed_as_any() -> None:
    stage = Stage(SOURCE, greedy)
    stage.task.turn()
    stage.task.close()
    assert stage.told == ["close"]
