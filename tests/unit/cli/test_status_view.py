"""A status as lines and rows."""

from __future__ import annotations

from rich.console import Console

from heronpy.cli.views import status_view
from heronpy.cli.views.live_table import component_table, rendered, snapshot
from heronpy.kernel.status import (
    Backpressure,
    CheckpointStatus,
    ContainerStatus,
    InstanceStatus,
    TopologyStatus,
)

NOW = 1_000_000.0


def instance(component: str, index: int, **known: object) -> InstanceStatus:
    kind = "spout" if component == "words" else "bolt"
    basics = {"task": index + 1, "component": component, "index": index, "container": index + 1, "kind": kind}
    return InstanceStatus(**{**basics, "state": "running", **known})  # type: ignore[arg-type]


HEALTHY = TopologyStatus(
    name="wordcount",
    state="RUNNING",
    running_since=NOW - 7512,
    packing="round_robin",
    scheduler="local",
    reliability="at_most_once",
    containers=(ContainerStatus(id=1, state="running"), ContainerStatus(id=2, state="running")),
    instances=(
        instance("words", 0, emitted=5_100_000, emit_rate=10_000.0),
        instance("words", 1, emitted=100_000, emit_rate=10_400.0),
        instance(
            "count", 0, executed=5_000_000, execute_rate=15_000.0, emit_rate=15_000.0, latency_ms=0.1, queue=3
        ),
        instance(
            "count",
            1,
            executed=200_000,
            emitted=1200,
            execute_rate=5_000.0,
            emit_rate=5_000.0,
            latency_ms=0.5,
            queue=4,
            errors=2,
        ),
    ),
)

SICK = TopologyStatus(
    name="wordcount",
    state="DEGRADED",
    reason="count[0] is missing since 12 s",
    containers=(
        ContainerStatus(id=1, state="missing", since=NOW - 12),
        ContainerStatus(id=2, state="running", dropped=3, rejected=1),
    ),
    instances=(
        instance("words", 0, waiting=0.8),
        instance("count", 0, state="missing"),
        instance("count", 1, state="failed", error="ValueError: no (wordcount.py:12 in process)", restarts=4),
        instance("sink", 0, busy="process() for 12 s"),
    ),
)


def test_the_headline_says_state_duration_and_choices() -> None:
    assert status_view.headline(HEALTHY, NOW) == "wordcount  RUNNING 2h05m  round_robin  local  at_most_once"
    assert status_view.headline(SICK, NOW) == "wordcount  DEGRADED"
    broken = TopologyStatus(name="w", state="DEGRADED", running_since=NOW - 7512)
    assert status_view.headline(broken, NOW) == "w  DEGRADED, up 2h05m"


def test_a_component_sums_its_instances_and_weighs_their_latency() -> None:
    assert status_view.component_rows(HEALTHY) == [
        ("words", "spout", "2", "-", "-", "5.2M", "20.4k", "0.00ms", "0", "0", "0", "running"),
        ("count", "bolt", "2", "5.2M", "20.0k", "1.2k", "20.0k", "0.20ms", "7", "2", "0", "running"),
    ]


def test_a_component_is_in_the_worst_state_of_its_instances() -> None:
    assert [row[-1] for row in status_view.component_rows(SICK)] == ["running", "1 failed", "running"]


def test_a_component_counts_how_often_its_instances_were_started_again() -> None:
    column = status_view.COMPONENT_HEADERS.index("restarts")
    assert [row[column] for row in status_view.component_rows(SICK)] == ["0", "4", "0"]


def test_what_the_reason_says_is_not_said_again() -> None:
    reason = "container 2 has been missing for 9 s; count[1] in container 2 is failed: ValueError: no"
    failed = instance("count", 1, state="failed", error="ValueError: no", restarts=4)
    same_cause = instance("count", 2, state="failed", error="ValueError: no", restarts=1)
    missing = ContainerStatus(id=2, state="missing", since=NOW - 9)
    status = TopologyStatus(
        name="w", state="DEGRADED", reason=reason, containers=(missing,), instances=(failed, same_cause)
    )
    assert status_view.notes(status, NOW) == [reason, "count[2]: ValueError: no"]


def test_all_that_is_wrong_has_a_line() -> None:
    assert status_view.notes(HEALTHY, NOW) == []
    assert status_view.notes(SICK, NOW) == [
        "count[0] is missing since 12 s",
        "container 1 is missing for 12s",
        "container 2 dropped 3 frames",
        "container 2 rejected 1 frames, messages or connections",
        "words[0] waits for slower readers 80% of the time",
        "count[1]: ValueError: no (wordcount.py:12 in process)",
        "sink[0] in process() for 12 s",
    ]


def test_what_was_given_up_comes_with_the_command_that_tries_again() -> None:
    status = TopologyStatus(name="w", state="FAILED", reason="container 2 was given up")
    assert status_view.notes(status, NOW) == [
        "container 2 was given up",
        "heronpy restart w CONTAINER starts anew what was given up there",
    ]


def test_those_who_refused_something_say_so() -> None:
    quarrelsome = TopologyStatus(
        name="w", state="RUNNING", rejected=2, instances=(instance("count", 1, rejected=5),)
    )
    assert status_view.notes(quarrelsome, NOW) == [
        "the topology master rejected 2 messages or connections",
        "count[1] rejected 5 frames",
    ]


def test_a_back_pressure_names_the_culprit_and_explains_who_waits() -> None:
    slow = Backpressure(
        culprit="count[1]", container=2, since=NOW - 72, seconds=72.0, spouts=("words[0]", "words[1]")
    )
    many = Backpressure(
        culprit="sink[0]",
        container=1,
        since=NOW - 2,
        seconds=2.0,
        bolts=tuple(f"count[{n}]" for n in range(8)),
    )
    status = TopologyStatus(
        name="w",
        state="RUNNING",
        instances=(instance("words", 0, waiting=0.9), instance("other", 0, waiting=0.6)),
        backpressure=(slow, many),
    )
    assert status_view.notes(status, NOW) == [
        "back-pressure  count[1] (container 2) for 1m12s, holds up words[0], words[1]",
        "back-pressure  sink[0] (container 1) for 2s, holds up"
        " count[0], count[1], count[2], count[3], count[4] and 3 more",
        "other[0] waits for slower readers 60% of the time",
    ]


def test_a_loss_is_an_interval_and_what_was_thrown_away_a_number() -> None:
    lossy = TopologyStatus(
        name="w",
        state="RUNNING",
        reliability="at_most_once",
        lost_min=120,
        lost_max=1344,
        instances=(instance("words", 0, dropped=1000), instance("words", 1, dropped=234)),
    )
    assert status_view.notes(lossy, NOW) == [
        "lost  between 120 and 1,344 tuples",
        "dropped  1,234 tuples for want of credit",
    ]
    replaying = TopologyStatus(name="w", state="RUNNING", reliability="at_least_once", lost_max=7)
    assert status_view.notes(replaying, NOW) == [
        "lost  between 0 and 7 tuples, which come again if they have an id"
    ]
    restored = TopologyStatus(name="w", state="RUNNING", reliability="effectively_once", lost_max=7)
    assert status_view.notes(restored, NOW) == []


def test_who_is_waited_for_is_named() -> None:
    assert status_view.waiting_for(HEALTHY) == ""
    assert status_view.waiting_for(SICK) == "count[0] in container 1 (missing) and 1 more"
    nobody = TopologyStatus(name="x", state="UNREACHABLE", instances=SICK.instances)
    assert status_view.waiting_for(nobody) == "the topology master in container 0"
    routes = TopologyStatus(name="x", state="STARTING", reason="stream manager 2 has no plan yet")
    assert status_view.waiting_for(routes) == "stream manager 2 has no plan yet"


def test_instances_and_containers_have_rows_of_their_own() -> None:
    assert len(status_view.instance_rows(HEALTHY)) == 4
    for rows, headers in (
        (status_view.instance_rows(HEALTHY), status_view.INSTANCE_HEADERS),
        (status_view.container_rows(SICK), status_view.CONTAINER_HEADERS),
    ):
        assert {len(row) for row in rows} == {len(headers)}


def test_the_live_table_fits_an_ordinary_terminal() -> None:
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        console.print(rendered([SICK], NOW, "q leaves", 80))
    lines = captured.get().splitlines()
    headers = lines[1].split()
    assert headers == [
        "component",
        "instances",
        "in",
        "in/s",
        "out",
        "out/s",
        "latency",
        "queue",
        "errors",
        "state",
    ]
    assert not any("…" in line for line in lines)


def test_a_narrow_terminal_gets_fewer_columns_and_whole_lines() -> None:
    lines = component_table(HEALTHY, 60).splitlines()
    assert lines[0].split() == ["component", "instances", "in", "in/s", "out", "out/s", "state"]
    assert max(map(len, lines)) <= 60
    assert component_table(HEALTHY, 20).splitlines()[0].split() == ["component", "in/s", "out/s", "state"]
    assert component_table(HEALTHY, None).split()[:3] == ["component", "kind", "instances"]


def test_a_topology_that_stands_still_says_why() -> None:
    def notes(**known: object) -> list[str]:
        flows = instance("count", 0, idle=float(str(known.pop("bolt", 40.0))))
        saved = CheckpointStatus(id=11, interval=10.0)
        status = TopologyStatus(
            name="w",
            state="RUNNING",
            instances=(instance("words", 0, **known), flows),
            checkpoints=saved,
        )
        return status_view.notes(status, NOW)

    assert notes(idle=3.0, bolt=3.0) == []
    assert notes(idle=40.0) == ["words emitted nothing for 40s"]
    assert notes(idle=3.0, bolt=40.0) == ["nothing came to count for 40s"]
    assert notes(idle=40.0, pending=100, pending_limit=100) == [
        "words waits for acks: 100 of 100 tuples are pending"
    ]
    assert notes(idle=40.0, pending=7) == ["words emitted nothing for 40s; 7 tuples wait for checkpoint 12"]


def test_back_pressure_and_a_pause_explain_themselves() -> None:
    slow = Backpressure(culprit="count[0]", container=1, since=NOW - 72, seconds=72.0, spouts=("words[0]",))
    words = instance("words", 0, idle=72.0)
    held_up = TopologyStatus(name="w", state="RUNNING", instances=(words,), backpressure=(slow,))
    assert status_view.notes(held_up, NOW) == [
        "back-pressure  count[0] (container 1) for 1m12s, holds up words[0]"
    ]
    assert status_view.notes(TopologyStatus(name="w", state="PAUSED", instances=(words,)), NOW) == []


def test_terminal_and_pipe_show_the_same_numbers() -> None:
    console = Console(width=110, no_color=True)
    with console.capture() as captured:
        console.print(rendered([HEALTHY, SICK], NOW, "q leaves"))
    text = snapshot([HEALTHY, SICK], NOW)
    for fact in ("wordcount  RUNNING 2h05m", "20.4k", "1 failed", "container 1 is missing for 12s"):
        assert fact in captured.get()
        assert fact in text
    assert captured.get().rstrip().endswith("q leaves")


def test_who_shares_a_process_is_told() -> None:
    members = [instance("words", 0, process="tasks-1"), instance("count", 0, process="tasks-1")]
    members += [instance("count", 1, process="tasks-2")]
    status = TopologyStatus(name="wordcount", state="RUNNING", scheduler="local", instances=tuple(members))
    assert status_view.headline(status, NOW) == "wordcount  RUNNING  local  fused"
    assert status_view.shared_processes(status) == ["tasks-1: words[0], count[0]", "tasks-2: count[1]"]
    assert status_view.shared_processes(HEALTHY) == []
