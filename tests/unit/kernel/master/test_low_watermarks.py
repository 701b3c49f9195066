"""Which task, split or hold keeps event time back: found from what each task says, as far as it leads."""

from __future__ import annotations

from heronpy.kernel.flow.watermarks import END, UNKNOWN
from heronpy.kernel.master.knowledge.low_watermarks import low_watermarks
from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    physical_plan,
)
from heronpy.kernel.protocol import EventTime
from heronpy.kernel.status import ComponentTime

SECOND = 1_000_000
NOW = 1000.0
OUT = (DeclaredStream("default", ("key",)),)


def chain() -> PhysicalPlan:
    """clicks 1, 2 → parse 3 → count 4, 5 → log 6, which hears nothing and feeds nobody."""
    by = DeclaredGrouping("shuffle")
    parsed = (Input("parse", "default", by),)
    logical = LogicalPlan(
        "t",
        (
            Component("clicks", "spout", "m.C", 2, outputs=OUT),
            Component("parse", "bolt", "m.P", 1, (Input("clicks", "default", by),), OUT),
            Component("count", "bolt", "m.N", 2, parsed, OUT, hears_watermarks=True),
            Component("log", "bolt", "m.L", 1, (Input("count", "default", by),)),
        ),
    )
    names = [("clicks", 0), ("clicks", 1), ("parse", 0), ("count", 0), ("count", 1), ("log", 0)]
    instances = tuple(InstancePlan(task, name, index) for task, (name, index) in enumerate(names, 1))
    packing = PackingPlan("t", "test", (ContainerPlan(1, instances, Resources()),), 7)
    return physical_plan(logical, packing)


def said(at: int, output: int | None = None, waits_for: int = 0, held_by: str = "") -> EventTime:
    output = at if output is None else output
    return EventTime(input=at, output=output, waits_for=waits_for, held_by=held_by)


def test_the_chain_is_followed_to_the_split_that_is_silent() -> None:
    times = {
        1: said(UNKNOWN, 990 * SECOND),
        2: said(UNKNOWN, 890 * SECOND, held_by="split 7: silent 1m48s (try idle='30s')"),
        3: said(890 * SECOND, waits_for=2),
        4: said(890 * SECOND, waits_for=3),
        5: said(885 * SECOND, waits_for=3),
    }
    silent = "clicks[1] split 7: silent 1m48s (try idle='30s')"
    assert low_watermarks(chain(), times, NOW) == (
        ComponentTime(component="clicks", low_watermark=890.0, lag=110.0, held_by=silent),
        ComponentTime(component="parse", low_watermark=890.0, lag=110.0, held_by=silent),
        ComponentTime(component="count", low_watermark=885.0, lag=115.0, held_by=silent),
    )


def test_a_hold_in_between_ends_the_chain_if_its_own_work_is_what_is_behind() -> None:
    times = {
        1: said(UNKNOWN, 990 * SECOND),
        2: said(UNKNOWN, 990 * SECOND),
        3: said(990 * SECOND, 900 * SECOND, waits_for=1, held_by="map_async: 12 calls under way"),
        4: said(900 * SECOND, waits_for=3),
        5: said(900 * SECOND, waits_for=3),
    }
    found = {one.component: one.held_by for one in low_watermarks(chain(), times, NOW)}
    assert found == {"clicks": "", "parse": "clicks[0]", "count": "parse[0] map_async: 12 calls under way"}


def test_what_is_unknown_is_named_and_what_has_ended_waits_for_nobody() -> None:
    times = {
        1: said(UNKNOWN, END),
        2: said(UNKNOWN, UNKNOWN),
        3: said(UNKNOWN, waits_for=2),
        4: said(END),
        5: said(END),
    }
    assert low_watermarks(chain(), times, NOW) == (
        ComponentTime(component="clicks"),
        ComponentTime(component="parse", held_by="clicks[1]"),
        ComponentTime(component="count", ended=True),
    )
    del times[2]
    found = {one.component: one.held_by for one in low_watermarks(chain(), times, NOW)}
    assert found["parse"] == "clicks[1], which has not been heard of"


def test_where_nobody_hears_watermarks_there_is_nothing_to_show() -> None:
    assert low_watermarks(chain(), {}, NOW) == ()
