"""What the Topology Master makes of beats and metrics: states, reasons, and who they name."""

from __future__ import annotations

import time

import pytest

from heronpy.kernel.master.knowledge.board import SILENCE, Board
from heronpy.kernel.plans import Component, LogicalPlan, PhysicalPlan, PlacedTask
from heronpy.kernel.protocol import (
    ContainerBeat,
    ContainerMetrics,
    HoldUp,
    InstanceBeat,
    MetricsReport,
    ProcessBeat,
    Sample,
)
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.paths import ChildView

START = 1000.0


def words_plan(counters: int = 2) -> PhysicalPlan:
    """line[0] and count[0] in container 1, every other count in container 2."""
    logical = LogicalPlan(
        "words",
        (Component("line", "spout", "m.Line", 1), Component("count", "bolt", "m.Count", counters)),
    )
    counts = (PlacedTask(2 + index, "count", index, 2 if index else 1) for index in range(counters))
    return PhysicalPlan("words", 1, logical, (PlacedTask(1, "line", 0, 1), *counts), (), {})


def words_board(counters: int = 2) -> Board:
    return Board(words_plan(counters), TopologyStatus(name="words", state="STARTING", epoch=1), START)


def seen(board: Board, now: float, live: str = "RUNNING", clock_set_by: float = 0.0) -> TopologyStatus:
    return board.status(now, now + clock_set_by, live)


def process(*instances: InstanceBeat, incarnation: int = 1) -> ProcessBeat:
    slot = instances[0].task
    return ProcessBeat(slot=slot, incarnation=incarnation, pid=100 + slot, instances=instances)


def beat(task: int, state: str = "running", incarnation: int = 1, error: str = "") -> ProcessBeat:
    """Of a process with one task."""
    return process(InstanceBeat(task=task, state=state, error=error), incarnation=incarnation)


def container(number: int, *processes: ProcessBeat, incarnation: int = 1) -> ContainerBeat:
    return ContainerBeat(
        container=number, incarnation=incarnation, endpoint=f"tcp://host:{number}", processes=processes
    )


def running_board() -> Board:
    board = words_board()
    board.on_container(container(1, beat(1), beat(2)), START + 1)
    board.on_container(container(2, beat(3)), START + 2)
    return board


def measured(board: Board, at: float, task: int = 1, incarnation: int = 1, **counters: float) -> None:
    samples = [Sample(name=name, value=value, kind="counter") for name, value in counters.items()]
    report = MetricsReport(task=task, incarnation=incarnation, samples=samples)
    board.on_metrics(ContainerMetrics(container=1, reports=[report]), at)


def test_a_topology_starts_until_everybody_has_said_that_they_run() -> None:
    board = words_board()
    status = seen(board, START + 1)
    assert status.state == "STARTING"
    assert status.reason == (
        "container 1 has been missing for 1 s; container 2 has been missing for 1 s;"
        " line[0] in container 1 is missing; count[0] in container 1 is missing;"
        " count[1] in container 2 is missing"
    )
    board.on_container(container(1, beat(1), beat(2, "starting")), START + 1)
    board.on_container(container(2, beat(3)), START + 1)
    status = seen(board, START + 1)
    assert (status.state, status.reason) == ("STARTING", "count[0] in container 1 is starting")
    assert status.running_since == 0.0

    board.on_container(container(1, beat(1), beat(2)), START + 2)
    status = seen(board, START + 3)
    assert (status.state, status.reason, status.running_since) == ("RUNNING", "", START + 2)
    assert [instance.state for instance in status.instances] == ["running"] * 3
    assert [one.endpoint for one in status.containers] == ["tcp://host:1", "tcp://host:2"]


def test_a_paused_topology_is_paused_once_it_is_whole() -> None:
    board = words_board()
    board.on_container(container(1, beat(1, "paused"), beat(2)), START)
    assert seen(board, START, "PAUSED").state == "STARTING"
    board.on_container(container(2, beat(3)), START)
    assert seen(board, START, "PAUSED").state == "PAUSED"


def test_a_container_that_falls_silent_is_missing_with_all_that_runs_in_it() -> None:
    board = running_board()
    board.on_container(container(1, beat(1), beat(2)), START + 2 + SILENCE)
    still = seen(board, START + 1.9 + SILENCE)
    assert still.state == "RUNNING"

    status = seen(board, START + 2 + SILENCE)
    assert status.state == "DEGRADED"
    assert status.reason == ("container 2 has been missing for 5 s; count[1] in container 2 is missing")
    assert [(one.id, one.state) for one in status.containers] == [(1, "running"), (2, "missing")]
    assert [(one.label, one.state) for one in status.instances] == [
        ("line[0]", "running"),
        ("count[0]", "running"),
        ("count[1]", "missing"),
    ]
    assert status.instances[2].since == START + 2

    board.on_container(container(2, beat(3), incarnation=2), START + 8)
    status = seen(board, START + 8)
    assert (status.state, status.running_since) == ("RUNNING", START + 2)


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_clock_that_is_set_makes_nobody_missing_and_hides_nobody(jump: float) -> None:
    board = running_board()
    measured(board, START + 3, emitted=100.0)
    measured(board, START + 4, emitted=200.0)
    board.on_container(container(1, beat(1), beat(2)), START + 4)
    whole = seen(board, START + 4, clock_set_by=jump)
    assert (whole.state, whole.reason, whole.running_since) == ("RUNNING", "", START + 2 + jump)
    assert (whole.instances[0].emit_rate, whole.instances[0].idle) == (100.0, 0.0)
    assert whole.at == START + 4 + jump
    assert [one.since for one in whole.containers] == [START + 4 + jump, START + 2 + jump]

    broken = seen(board, START + 8, clock_set_by=jump)
    assert broken.reason == "container 2 has been missing for 6 s; count[1] in container 2 is missing"
    assert broken.instances[2].since == START + 2 + jump


def test_a_topology_that_ran_while_nobody_asked_and_broke_is_degraded() -> None:
    board = running_board()
    board.on_container(container(2, beat(3, "failed", error="bolts.py:7: KeyError: 'x'")), START + 3)
    status = seen(board, START + 3)
    assert status.state == "DEGRADED"
    assert status.reason == "count[1] in container 2 is failed: bolts.py:7: KeyError: 'x'"
    assert status.instances[2].error == "bolts.py:7: KeyError: 'x'"


def test_a_reason_stays_one_line_and_those_that_say_why_come_first() -> None:
    board = words_board(counters=8)
    counts = [beat(task, "starting") for task in range(3, 10)]
    counts[5] = beat(8, "failed", error="no module named 'torch'")
    board.on_container(container(1, beat(1), beat(2)), START)
    board.on_container(container(2, *counts), START)
    assert seen(board, START).reason == (
        "count[6] in container 2 is failed: no module named 'torch';"
        " count[1] in container 2 is starting; count[2] in container 2 is starting;"
        " count[3] in container 2 is starting; count[4] in container 2 is starting; and 2 more"
    )


def test_a_stream_manager_that_was_replaced_is_not_heard_any_more() -> None:
    board = running_board()
    board.on_container(container(2, beat(3, incarnation=2), incarnation=2), START + 3)
    board.on_container(container(2, beat(3, "failed"), incarnation=1), START + 4)
    status = seen(board, START + 4)
    assert (status.state, status.instances[2].incarnation) == ("RUNNING", 2)


def test_since_moves_with_the_state_and_with_the_incarnation_only() -> None:
    board = running_board()
    since = [seen(board, START + 3).instances[0].since]
    for at, told in (
        (4, beat(1)),
        (5, beat(1, "paused")),
        (6, beat(1, "paused")),
        (7, beat(1, "paused", incarnation=2)),
    ):
        board.on_container(container(1, told), START + at)
        since.append(seen(board, START + at).instances[0].since)
    assert since == [START + 1, START + 1, START + 5, START + 5, START + 7]


def test_rates_come_from_successive_reports() -> None:
    board = running_board()
    measured(board, START, emitted=100, busy_seconds=1.0, calls=10, waiting_seconds=0.0, queued=3)
    measured(board, START + 2, emitted=300, busy_seconds=2.0, calls=30, waiting_seconds=0.5, queued=4)
    line = seen(board, START + 2).instances[0]
    assert (line.emitted, line.emit_rate, line.latency_ms, line.waiting, line.queue) == (
        300,
        100.0,
        50.0,
        0.25,
        4,
    )

    measured(board, START + 3, incarnation=2, emitted=7)
    line = seen(board, START + 3).instances[0]
    assert (line.emitted, line.emit_rate, line.latency_ms, line.queue) == (7, 0.0, 0.0, 0)


def test_losses_are_an_interval_that_outlives_those_who_noticed() -> None:
    board = running_board()
    first = process(InstanceBeat(task=1, state="running", missing=5, maybe_lost=100))
    second = process(InstanceBeat(task=1, state="running", missing=1), incarnation=2)
    other = process(InstanceBeat(task=3, state="running", maybe_lost=50))
    for at, told in enumerate((container(1, first), container(2, other), container(1, second))):
        board.on_container(told, START + 2 + at)
    measured(board, START + 1, task=3, dropped=9)
    status = seen(board, START + 4)
    assert [(one.lost_min, one.lost_max, one.dropped) for one in status.instances] == [
        (6, 106, 0),
        (0, 0, 0),
        (0, 50, 9),
    ]
    assert (status.lost_min, status.lost_max) == (6, 156)


def test_a_status_that_was_given_does_not_change_with_the_next_report() -> None:
    board = running_board()

    def hits(value: float) -> ContainerMetrics:
        sample = Sample(name="custom", value=value, kind="gauge", labels={"metric": "hits"})
        return ContainerMetrics(container=1, reports=[MetricsReport(task=2, incarnation=1, samples=[sample])])

    board.on_metrics(hits(1.0), START)
    earlier = seen(board, START)
    board.on_metrics(hits(2.0), START + 1)
    later = seen(board, START + 1)
    assert [status.instances[1].custom for status in (earlier, later)] == [{"hits": 1.0}, {"hits": 2.0}]


def test_numbers_of_a_stream_manager_belong_to_its_container() -> None:
    board = running_board()
    samples = [Sample(name=name, value=n, kind="counter") for name, n in (("frames", 9), ("dropped", 1))]
    report = MetricsReport(source="stream-manager", incarnation=1, samples=samples)
    board.on_metrics(ContainerMetrics(container=2, reports=[report]), START)
    status = seen(board, START)
    assert [(one.frames, one.dropped) for one in status.containers] == [(0, 0), (9, 1)]


def test_a_task_that_holds_others_up_is_named_until_they_say_otherwise() -> None:
    board = running_board()
    waits = HoldUp(task=3, seconds=12.0)
    waiting = process(InstanceBeat(task=1, state="running", held_up_by=[waits]))
    board.on_container(container(1, waiting, beat(2)), START + 4)
    status = seen(board, START + 4)
    assert (status.state, status.reason) == ("RUNNING", "")
    assert [(one.culprit, one.container, one.since, one.spouts) for one in status.backpressure] == [
        ("count[1]", 2, START - 8, ("line[0]",))
    ]
    board.on_container(container(1, beat(1), beat(2)), START + 5)
    assert seen(board, START + 5).backpressure == ()


def test_an_emitter_that_is_gone_blames_nobody() -> None:
    board = running_board()
    waits = HoldUp(task=3, seconds=12.0)
    waiting = process(InstanceBeat(task=1, state="failed", held_up_by=[waits]))
    board.on_container(container(1, waiting, beat(2)), START + 3)
    assert seen(board, START + 3).backpressure == ()


def test_restarts_are_those_that_the_executors_publish() -> None:
    board = running_board()
    board.children = {
        "count[1]": ChildView(pid=7, state="running", restarts=4, last_exit="", since=START, tasks=(3,)),
        "stream-manager-1": ChildView(pid=8, state="running", restarts=2, last_exit="", since=START),
    }
    assert [one.restarts for one in seen(board, START).instances] == [0, 0, 4]


def test_an_instance_that_waits_for_its_restart_is_not_called_running() -> None:
    board = running_board()
    board.children = {
        "count[1]": ChildView(
            pid=0, state="waiting", restarts=3, last_exit="signal 9 (killed)", since=START, tasks=(3,)
        )
    }
    status = seen(board, START)
    assert status.state == "DEGRADED"
    assert [(one.label, one.state, one.error) for one in status.instances if one.state != "running"] == [
        ("count[1]", "failed", "signal 9 (killed)")
    ]


def test_an_instance_that_gives_no_sign_of_life_is_silent() -> None:
    board = running_board()
    board.children = {
        "count[1]": ChildView(pid=7, state="silent", restarts=0, last_exit="", since=START, tasks=(3,))
    }
    status = seen(board, START + 3)
    assert (status.state, status.reason) == ("DEGRADED", "count[1] in container 2 is silent")


def test_a_topology_with_an_instance_that_was_given_up_has_failed_with_the_reason() -> None:
    board = running_board()
    board.on_container(container(2, beat(3, "failed", error="KeyError: 'x' (bolts.py:7)")), START + 3)
    board.children = {
        "count[1]": ChildView(
            pid=0, state="given_up", restarts=9, last_exit="exit 1", since=START, tasks=(3,), streak=5
        )
    }
    status = seen(board, START + 3)
    assert status.state == "FAILED"
    assert [one.state for one in status.instances] == ["running", "running", "failed"]
    assert status.instances[2].error == "given up after 5 restarts in a row: KeyError: 'x' (bolts.py:7)"
    assert status.reason == f"count[1] in container 2 is failed: {status.instances[2].error}"


def test_what_was_given_up_comes_first_in_the_reason() -> None:
    board = running_board()
    board.on_container(container(1, beat(1), beat(2)), START + 60)
    board.given_up = {2: "given up after 20 restarts in a row: exit 1"}
    board.children = {
        "metrics-manager-1": ChildView(
            pid=0, state="given_up", restarts=20, last_exit="exit 70", since=START, streak=20
        )
    }
    status = seen(board, START + 60)
    assert status.state == "FAILED"
    assert status.reason == (
        "container 2 was given up after 20 restarts in a row: exit 1;"
        " metrics-manager-1 was given up after 20 restarts in a row: exit 70, see its log;"
        " count[1] in container 2 is missing"
    )
    assert [(one.id, one.state) for one in status.containers] == [(1, "running"), (2, "failed")]


def test_a_manager_that_ends_again_and_again_is_in_the_reason() -> None:
    board = running_board()
    once = ChildView(pid=0, state="waiting", restarts=1, last_exit="exit 1", since=START, streak=1)
    board.children = {"stream-manager-2": once}
    assert seen(board, START + 3).reason == ""
    again = ChildView(pid=0, state="waiting", restarts=3, last_exit="exit 1", since=START, streak=3)
    board.children = {"stream-manager-2": again}
    status = seen(board, START + 3)
    assert (status.state, status.reason) == (
        "DEGRADED",
        "stream-manager-2 has ended 3 times in a row: exit 1, see its log",
    )


def test_the_reason_says_that_another_container_was_asked_for() -> None:
    board = running_board()
    board.on_container(container(1, beat(1), beat(2)), START + 63)
    board.asked = {2: "not heard of for 61 s"}
    status = seen(board, START + 63)
    assert status.reason == (
        "container 2 has been missing for 61 s, another was asked for; count[1] in container 2 is missing"
    )


def test_beats_of_a_replaced_stream_manager_are_told_apart() -> None:
    board = running_board()
    assert board.on_container(container(2, beat(3), incarnation=2), START + 3)
    assert not board.on_container(container(2, beat(3), incarnation=1), START + 4)


def test_ten_thousand_tasks_are_no_reason_to_wait() -> None:
    board = words_board(counters=10_000)
    began = time.process_time()
    board.on_container(container(1, beat(1), beat(2)), START)
    board.on_container(container(2, *(beat(task) for task in range(3, 10_002))), START)
    assert seen(board, START).state == "RUNNING"
    assert time.process_time() - began < 2.0


def test_what_was_refused_is_counted_where_it_was_refused() -> None:
    board = running_board()
    measured(board, START + 3, task=2, rejected=4.0)
    reports = [
        MetricsReport(source=source, incarnation=7, samples=[Sample(name="rejected", value=value)])
        for source, value in (("stream-manager", 10.0), ("metrics-manager", 5.0))
    ]
    board.on_metrics(ContainerMetrics(container=2, reports=reports), START + 3)
    status = seen(board, START + 4)
    assert [one.rejected for one in status.containers] == [0, 15]
    assert [one.rejected for one in status.instances] == [0, 4, 0]


def test_numbers_that_are_none_do_not_break_the_status() -> None:
    board = running_board()
    samples = [
        Sample(name="emitted", value=float("nan"), kind="counter"),
        Sample(name="queued", value=float("inf"), kind="gauge"),
        Sample(name="custom", value=float("nan"), kind="gauge", labels={"metric": "mean"}),
        Sample(name="executed", value=7, kind="counter"),
    ]
    report = MetricsReport(task=2, incarnation=1, samples=samples)
    board.on_metrics(ContainerMetrics(container=1, reports=[report]), START + 3)
    status = seen(board, START + 4)
    one = TopologyStatus.from_json(status.to_json()).instances[1]
    assert (one.emitted, one.queue, one.executed, one.custom) == (0, 0, 7, {})


def test_tasks_of_one_process_have_its_pid_and_restarts_and_end_with_it() -> None:
    board = words_board()
    line, count = (InstanceBeat(task=task, state="running") for task in (1, 2))
    board.on_container(container(1, process(line, count, incarnation=7)), START + 1)
    board.on_container(container(2, beat(3)), START + 2)
    instances = seen(board, START + 2).instances
    assert [(one.pid, one.incarnation, one.state) for one in instances] == [
        (101, 7, "running"),
        (101, 7, "running"),
        (103, 1, "running"),
    ]
    board.children = {
        "line[0]+1": ChildView(
            pid=0, state="waiting", restarts=2, last_exit="signal 9 (killed)", since=START, tasks=(1, 2)
        )
    }
    status = seen(board, START + 3)
    assert [(one.state, one.restarts, one.error) for one in status.instances] == [
        ("failed", 2, "signal 9 (killed)"),
        ("failed", 2, "signal 9 (killed)"),
        ("running", 0, ""),
    ]
    assert status.state == "DEGRADED"


def test_another_plan_brings_its_own_tasks_and_what_was_lost_stays_lost() -> None:
    board = running_board()
    gone = process(InstanceBeat(task=3, state="running", missing=4, maybe_lost=6))
    board.on_container(container(2, gone), START + 3)
    assert (board.lost(), seen(board, START + 3).lost_max) == (4, 10)
    board.on_container(container(1, beat(1), beat(2)), START + 4)
    board.on_container(container(3, beat(9, "ready")), START + 4)
    assert [one.task for one in seen(board, START + 4).instances] == [1, 2, 3]

    before = words_plan()
    tasks = (*before.tasks[:2], PlacedTask(9, "count", 1, 3))
    board.use_plan(PhysicalPlan("words", 2, before.logical, tasks, (), {}))
    status = seen(board, START + 5)
    assert (status.state, status.reason, status.epoch) == ("RUNNING", "", 2)
    assert [(one.task, one.state) for one in status.instances] == [
        (1, "running"),
        (2, "running"),
        (9, "ready"),
    ]
    assert [one.id for one in status.containers] == [1, 3]
    assert (board.lost(), status.lost_min, status.lost_max) == (4, 4, 10)


def test_a_container_that_is_started_again_on_purpose_is_no_trouble() -> None:
    board = running_board()
    late = START + 2 + SILENCE + 1
    board.on_container(container(1, beat(1), beat(2)), late)
    assert seen(board, late).state == "DEGRADED"
    board.excused = (2,)
    status = seen(board, late)
    assert (status.state, status.reason) == ("RUNNING", "")
    assert [one.state for one in status.instances] == ["running", "running", "missing"]
