"""The table of event time in `status` and `top`."""

from __future__ import annotations

import datetime

from heronpy.cli.views.event_time_view import event_time_table
from heronpy.cli.views.live_table import snapshot
from heronpy.kernel.status import ComponentTime, InstanceStatus, TopologyStatus

AT = datetime.datetime(2026, 11, 18, 12, 3, 10).timestamp()


def status(*times: ComponentTime) -> TopologyStatus:
    instance = InstanceStatus(
        task=1, component="count", index=0, container=1, kind="bolt", custom={"late_dropped/count": 12.0}
    )
    return TopologyStatus(name="t", state="RUNNING", instances=(instance,), event_time=times)


def test_it_says_how_far_each_component_is_and_what_keeps_it_back() -> None:
    silent = "clicks[1] split 7: silent 1m48s (try idle='30s')"
    shown = event_time_table(
        status(
            ComponentTime(component="clicks", low_watermark=AT + 108, lag=2.0),
            ComponentTime(component="count", low_watermark=AT, lag=110.0, held_by=silent),
            ComponentTime(component="old", low_watermark=AT, lag=400_000.0, held_by="clicks[0]"),
            ComponentTime(component="join", held_by="clicks[1]"),
            ComponentTime(component="done", ended=True),
        )
    )
    assert shown.startswith("component  low watermark")
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in shown.splitlines()[1:]}
    assert rows["clicks"] == "12:04:58 2s - -"
    assert rows["count"] == f"12:03:10 1m50s {silent} 12 dropped"
    assert rows["old"] == "2026-11-18 12:03:10 4d15h clicks[0] -"
    assert rows["join"] == "unknown - clicks[1] -"
    assert rows["done"] == "end - - -"


def test_top_shows_it_too_and_a_topology_without_event_time_shows_nothing() -> None:
    timed = status(ComponentTime(component="count", low_watermark=AT, lag=110.0))
    assert "low watermark" in snapshot([timed], AT)
    assert event_time_table(status()) == ""
    assert "low watermark" not in snapshot([status()], AT)
