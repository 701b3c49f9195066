"""The second thread of an instance: nobody hears of an instance without it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from support.tasks.plans import edge, plan_of

from heronpy.instances.process.control import LONGEST_UNTOLD, PATIENT, Control, ProcessId
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.machine.addresses import CONTROL_SOCKET, METRICS_SOCKET, process_identity
from heronpy.kernel.protocol import (
    Body,
    CheckpointsNotice,
    LiveNotice,
    MetricsReport,
    Part,
    PlanNotice,
    ProcessBeat,
    Stored,
    unwrap,
    wrap,
)
from heronpy.kernel.transport import Router, Transport

PROGRAM = """
import os, sys, time
from pathlib import Path
from heronpy.instances.process.control import Control, ProcessId
from heronpy.kernel.transport import Transport

class NoNumber:
    def __int__(self):
        raise ArithmeticError("these numbers do not add up")
    __index__ = __int__

_, lifeline = os.pipe()
control = Control(Transport(), Path(sys.argv[1]), ProcessId(1, 1), [1], lifeline, 30.0, 0.05, lambda: None)
control.reports[1].counters.missing = NoNumber()
control.start()
time.sleep(60)
"""


def test_an_instance_does_not_outlive_its_control_thread(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 70
    assert "ArithmeticError: these numbers do not add up" in done.stderr


def test_a_process_that_only_waits_beats_now_and_then_and_at_once_for_a_new_stream_manager(
    tmp_path: Path,
) -> None:
    def beats() -> int:
        return sum(1 for _ in iter(stream_manager.receive, None))

    path = str(tmp_path / CONTROL_SOCKET)
    with Transport() as transport:
        stream_manager = transport.router_local(path)
        control = Control(transport, tmp_path, ProcessId(4, 9), [4], -1, 30.0, 1.0, lambda: None)
        assert [control._beat_if_news() for _ in range(5)] == [True, *[False] * 4]
        assert beats() == 1
        control._told_at -= LONGEST_UNTOLD
        assert [control._beat_if_news() for _ in range(5)] == [False] * 5
        assert beats() == 1
        control.reports[4].counters.other_calls = 1
        assert [control._beat_if_news() for _ in range(2)] == [True, False], (
            "it works, and has nothing to say"
        )
        assert beats() == 0
        control.reports[4].progress.loaded_epoch = 3
        control._beat_if_news()
        control._beat_if_news()
        assert beats() == 1
        stream_manager.close()
        stream_manager = transport.router_local(path)
        while not (told := beats()):
            control._on_stream_manager()
        assert told == 1


def test_metrics_of_tasks_at_rest_are_told_when_the_process_has_computed_and_to_a_new_manager(
    tmp_path: Path,
) -> None:
    def told() -> list[tuple[int, bool]]:
        """The task of each report that has come, and whether it has the samples of the task itself."""
        found: list[tuple[int, bool]] = []
        while (parts := metrics_manager.receive()) is not None:
            report = unwrap(parts[1])
            assert isinstance(report, MetricsReport)
            found.append((report.task, "errors" in {sample.name for sample in report.samples}))
        return found

    path = str(tmp_path / METRICS_SOCKET)
    with Transport() as transport:
        metrics_manager = transport.router_local(path)
        control = Control(transport, tmp_path, ProcessId(4, 9), [4, 5], -1, 30.0, 1.0, lambda: None)
        usage: Any = SimpleNamespace(has_moved=False, samples=list)
        control._usage = usage
        assert [control._metrics_if_news() for _ in range(3)] == [True, False, False]
        assert told() == [(4, True), (5, True)]
        usage.has_moved = True
        assert [control._metrics_if_news() for _ in range(2)] == [False, False]
        assert told() == [(4, True)] * 2
        usage.has_moved = False
        metrics_manager.close()
        metrics_manager = transport.router_local(path)
        while not (reports := told()):
            control._on_metrics_manager()
        assert reports == [(4, True), (5, True)]


def test_a_process_without_news_looks_seldom_and_for_all_at_one_moment(tmp_path: Path) -> None:
    with Transport() as transport:
        control = Control(transport, tmp_path, ProcessId(4, 9), [4], -1, 30.0, 1.0, lambda: None)
        due: list[tuple[float, Callable[[], None]]] = []
        reactor: Any = SimpleNamespace(call_later=lambda wait, call: due.append((wait, call)))
        control._reactor = reactor

        def waits(look: Callable[[], bool], looks: int) -> list[float]:
            """How long each of so many looks waits for the next one, in whole seconds."""
            control._look_later(look, 1.0, 0)
            found = []
            for _ in range(looks):
                wait, call = due.pop()
                control._begun -= wait  # as if the time had passed
                found.append(wait)
                call()
            due.clear()
            return [round(wait) for wait in found[1:]]

        assert waits(lambda: True, 20) == [1] * 19
        seldom = waits(lambda: False, 20)
        assert seldom[: PATIENT - 1] == [1] * (PATIENT - 1)
        assert seldom[-5:] == [3] * 5
        phase = (time.monotonic() - control._begun) % 3
        assert min(phase, 3 - phase) < 0.5, "a moment at which all looks are due"


class Managers:
    """The control side of a process with the tasks 4, 5 and 6, and the sockets that it speaks to."""

    def __init__(self, folder: Path) -> None:
        self.transport = Transport()
        self.stream_manager = self.transport.router_local(str(folder / CONTROL_SOCKET))
        self.metrics_manager = self.transport.router_local(str(folder / METRICS_SOCKET))
        self._reader, self._lifeline = os.pipe()
        self.control = Control(
            self.transport, folder, ProcessId(4, 9), [4, 5, 6], self._lifeline, 30.0, 0.05, lambda: None
        )
        self.control.start()

    def next_beat(self) -> ProcessBeat:
        beat = self._next(self.stream_manager)
        assert isinstance(beat, ProcessBeat)
        return beat

    def beat_in_which(self, holds: Callable[[ProcessBeat], bool]) -> ProcessBeat:
        while not holds(beat := self.next_beat()):
            continue
        return beat

    def next_metrics(self) -> MetricsReport:
        report = self._next(self.metrics_manager)
        assert isinstance(report, MetricsReport)
        return report

    def _next(self, router: Router) -> Body:
        deadline = time.monotonic() + 10
        while (parts := router.receive()) is None:
            assert time.monotonic() < deadline, "nothing came"
            time.sleep(0.002)
        assert parts[0] == process_identity(4, 9)
        return unwrap(parts[1])

    def tell(self, *notices: PlanNotice | LiveNotice | CheckpointsNotice) -> None:
        for notice in notices:
            self.stream_manager.send(process_identity(4, 9), wrap(notice))

    def close(self) -> None:
        self.control.stop()
        self.transport.close()
        os.close(self._reader)
        os.close(self._lifeline)


@pytest.fixture
def managers(tmp_path: Path) -> Iterator[Managers]:
    made = Managers(tmp_path)
    yield made
    made.close()


def test_a_process_registers_once_with_all_its_tasks(managers: Managers) -> None:
    beat = managers.next_beat()
    assert (beat.slot, beat.incarnation, beat.pid) == (4, 9, os.getpid())
    assert [(each.task, each.state) for each in beat.instances] == [
        (4, "starting"),
        (5, "starting"),
        (6, "starting"),
    ]


def test_each_task_of_a_process_speaks_of_itself(managers: Managers) -> None:
    managers.next_beat()
    reports = managers.control.reports
    reports[5].progress.loaded_epoch = 3
    reports[6].counters.lost(2, 1)
    reports[4].become("running")
    beat = managers.beat_in_which(lambda beat: beat.instances[0].state == "running")
    assert [(each.state, each.loaded_epoch, each.missing) for each in beat.instances] == [
        ("running", 0, 0),
        ("starting", 3, 0),
        ("starting", 0, 2),
    ]


def test_a_process_is_told_once_for_all_its_tasks_and_its_beats_say_what_it_has_heard(
    managers: Managers,
) -> None:
    managers.next_beat()
    plan, checkpoints = plan_of(edge("shuffle")), Checkpoints(number=7)
    assert managers.control.wait_for_plan(lambda: True) is None
    managers.tell(
        PlanNotice(epoch=plan.epoch, plan=plan.to_json()),
        LiveNotice(state="PAUSED", number=5, config=b'{"count": {"limit": 3}}'),
        CheckpointsNotice(number=7, node=checkpoints.to_json()),
    )
    assert managers.control.wait_for_plan(lambda: False) == plan
    managers.control.tell()
    beat = managers.beat_in_which(lambda beat: beat.checkpoints == 7)
    assert (beat.epoch, beat.live, beat.live_number, beat.update) == (plan.epoch, "PAUSED", 5, 0)
    notices = managers.control.notices
    assert (notices.active, notices.live_config) == (False, {"count": {"limit": 3}})


def test_metrics_are_by_task_and_what_the_process_uses_is_counted_once(managers: Managers) -> None:
    reports = [managers.next_metrics() for _ in range(3)]
    assert [(each.task, each.incarnation, each.pid) for each in reports] == [
        (task, 9, os.getpid()) for task in (4, 5, 6)
    ]
    used = [[sample.name for sample in each.samples if sample.name == "cpu_seconds"] for each in reports]
    assert used == [["cpu_seconds"], [], []]


def test_an_error_is_of_the_task_whose_code_was_called_and_of_all_if_none_was(managers: Managers) -> None:
    managers.next_beat()
    managers.control.reports[5].enter("process")
    managers.control.fail("ZeroDivisionError", "line 3")
    beat = managers.beat_in_which(lambda beat: beat.instances[1].state == "failed")
    assert [(each.state, each.error) for each in beat.instances] == [
        ("starting", ""),
        ("failed", "ZeroDivisionError"),
        ("starting", ""),
    ]
    managers.control.reports[5].leave()
    managers.control.fail("OSError", "")
    beat = managers.beat_in_which(lambda beat: {each.state for each in beat.instances} == {"failed"})
    assert [each.error for each in beat.instances] == ["OSError"] * 3


def test_beats_leave_no_memory_behind(tmp_path: Path) -> None:
    reader, lifeline = os.pipe()
    with Transport() as transport:
        control = Control(transport, tmp_path, ProcessId(1, 1), [1, 2], lifeline, 30.0, 1.0, lambda: None)

        def beat_for(checkpoints: range) -> int:
            """A beat for each of these; the process's memory after them."""
            for checkpoint in checkpoints:
                part = Part(object=f"words/0123456789ab/{checkpoint}/1", checksum="0" * 32, bytes=1000)
                control.reports[1].progress.snapshot = Stored(id=checkpoint, run=1, parts=[part])
                control.tell()
                control._reactor.turn(0)
            return psutil.Process().memory_info().rss

        # until the connection's queue is full, and the allocator's caches are
        warm = beat_for(range(5_000))
        grown = beat_for(range(5_000, 25_000)) - warm
    os.close(reader)
    os.close(lifeline)
    assert grown < 2**20, f"{grown} bytes more after 20,000 beats"
