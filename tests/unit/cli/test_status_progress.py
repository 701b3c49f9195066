"""What a topology saves, restores and changes, as lines."""

from __future__ import annotations

from typing import Any

from heronpy.cli.views.status_progress import progress, size
from heronpy.cli.views.update_phases import Phases
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.status import CheckpointStatus, TopologyStatus, UpdateStatus
from heronpy.kernel.tree.update import Update

NOW = 1_000_000.0


def lines(**known: Any) -> list[str]:
    return progress(TopologyStatus(name="w", state="RUNNING", **known), NOW)


def test_a_topology_that_saves_nothing_says_nothing_of_it() -> None:
    assert lines() == []
    assert lines(checkpoints=CheckpointStatus()) == []


def test_the_newest_checkpoint_has_its_age_and_size() -> None:
    saved = CheckpointStatus(id=1152, at=NOW - 8, bytes=41_000_000, interval=10.0)
    assert lines(checkpoints=saved) == ["checkpoint 1152, 8s ago, 41 MB, every 10 s"]
    on_demand = CheckpointStatus(id=1, at=NOW - 80, bytes=120)
    assert lines(checkpoints=on_demand) == ["checkpoint 1, 1m20s ago, 120 bytes"]
    assert lines(checkpoints=CheckpointStatus(interval=0.5)) == ["no checkpoint yet, every 0.5 s"]


def test_one_that_takes_long_says_who_is_late_and_a_quick_one_nothing() -> None:
    late = ("count[0] (running)", "count[1] (process() for 12 s)", "a[0] (running)", "b[0] (running)")
    slow = CheckpointStatus(running=3, running_for=12.0, waits_for=late)
    assert lines(checkpoints=slow) == [
        "checkpoint 3 has been running for 12s, waits for"
        " count[0] (running), count[1] (process() for 12 s), a[0] (running) and 1 more"
    ]
    assert lines(checkpoints=CheckpointStatus(running=3, running_for=0.2, waits_for=late)) == []


def test_one_that_was_given_up_is_worth_a_line_until_a_later_one_is_complete() -> None:
    given_up = CheckpointStatus(id=2, at=NOW, bytes=1, aborted=3, aborted_because="count[0]: disk full")
    assert lines(checkpoints=given_up)[1:] == ["checkpoint 3 was given up: count[0]: disk full"]
    later = CheckpointStatus(id=4, at=NOW, bytes=1, aborted=3, aborted_because="count[0]: disk full")
    assert lines(checkpoints=later)[1:] == []


def test_restores_are_counted_and_the_last_one_has_its_reason() -> None:
    saved = CheckpointStatus(
        run=3,
        restores=2,
        restored_at=NOW - 12,
        restored_because="count[1] ended: signal 9 (killed)",
        fell_back="went back to checkpoint 7: checkpoint 8: damaged",
    )
    assert lines(checkpoints=saved) == [
        "run 3, restored 2 times, last 12s ago: count[1] ended: signal 9 (killed)",
        "went back to checkpoint 7: checkpoint 8: damaged",
    ]


def test_an_update_has_its_phase_and_whom_it_waits_for() -> None:
    update = UpdateStatus(
        epoch=2,
        kind="scale",
        phase="cut",
        wanted={"count": 4, "split": 2},
        requested_at=NOW - 3,
        waits_for=("count[0] (process() for 2 s)",),
    )
    assert lines(update=update) == [
        "update count=4 split=2  cut after 3s, waits for count[0] (process() for 2 s)"
    ]
    rollback = UpdateStatus(epoch=2, kind="restart", phase="rollback", containers=(1, 2), reason="a[0] ended")
    assert lines(update=rollback) == ["restart of container 1, container 2  rollback: a[0] ended"]


def test_sizes_are_short() -> None:
    assert [size(number) for number in (0, 999, 1500, 20_900_000, 3_000_000_000)] == [
        "0 bytes",
        "999 bytes",
        "1.5 KB",
        "20.9 MB",
        "3 GB",
    ]


def test_a_phase_that_takes_long_says_whom_it_waits_for_and_only_when_that_changes() -> None:
    said: list[str] = []
    phases = Phases("as it was", said.append, lambda line: None)
    update = Update(number=1, epoch=2, phase="prepare", packing=PackingPlan("w", "test", (), 1))
    phases.see(update, NOW)
    for names in ((), ("count[2] (starting)",), ("count[2] (starting)",), ()):
        phases.wait_for(names)
    assert said == ["  2/5 launch", "  2/5 launch   waits for count[2] (starting)"]
