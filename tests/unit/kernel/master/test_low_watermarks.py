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


def said(
    at: int, output: int | None = None, waits_for: int = 0, held_by: str = "", *, idle: bool = False
) -> EventTime:
    """A bolt is as far as its input, unless it says more."""
    output = at if output is None else output
    return EventTime(input=at, output=output, waits_for=waits_for, held_by=held_by, idle=idle)


def began(output: int, held_by: str = "", *, idle: bool = False) -> EventTime:
    """A task in which event time begins."""
    return EventTime(input=UNKNOWN, output=output, held_by=held_by, idle=idle, begins=True)


def test_the_chain_is_followed_to_the_split_that_is_silent() -> None:
    times = {
        1: began(990 * SECOND),
        2: began(890 * SECOND, held_by="split 7: silent 1m48s (try idle='30s')"),
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
        1: began(990 * SECOND),
        2: began(990 * SECOND),
        3: said(990 * SECOND, 900 * SECOND, waits_for=1, held_by="12 orders without price"),
        4: said(900 * SECOND, waits_for=3),
        5: said(900 * SECOND, waits_for=3),
    }
    found = {one.component: one.held_by for one in low_watermarks(chain(), times, NOW)}
    assert found == {"clicks": "", "parse": "clicks[0]", "count": "parse[0] 12 orders without price"}


def test_what_is_unknown_is_named_and_what_has_ended_waits_for_nobody() -> None:
    times = {
        1: began(END),
        2: began(UNKNOWN),
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


def shown(times: dict[int, EventTime]) -> dict[str, tuple[float | None, str]]:
    return {one.component: (one.low_watermark, one.held_by) for one in low_watermarks(chain(), times, NOW)}


def test_a_task_that_is_idle_holds_no_row_back_where_it_was_nor_one_that_has_no_splits() -> None:
    times = {
        1: began(990 * SECOND),
        2: began(100 * SECOND, idle=True),
        3: said(990 * SECOND, waits_for=1),
        4: said(990 * SECOND, waits_for=3),
        5: said(UNKNOWN, idle=True),
    }
    assert shown(times) == {
        "clicks": (990.0, ""),
        "parse": (990.0, "clicks[0]"),
        "count": (990.0, "clicks[0]"),
    }
    times[2] = began(UNKNOWN, idle=True)
    assert shown(times)["clicks"] == (990.0, "")


def test_where_all_are_idle_time_stays_where_the_last_was_and_nobody_is_waited_for() -> None:
    times = {
        1: began(990 * SECOND, idle=True),
        2: began(100 * SECOND, idle=True),
        3: said(UNKNOWN, idle=True),
    }
    assert shown(times) == {"clicks": (990.0, ""), "parse": (None, "")}
    times[1] = began(END)
    assert shown(times)["clicks"] == (100.0, "")
    times[2] = began(UNKNOWN, idle=True)
    assert low_watermarks(chain(), times, NOW)[0] == ComponentTime(component="clicks", ended=True)


def test_where_event_time_begins_in_a_bolt_that_is_named_and_nobody_in_front_of_it() -> None:
    times = {
        1: said(UNKNOWN),
        2: said(UNKNOWN),
        3: began(890 * SECOND, held_by="silent 1m48s (try idle='30s')"),
        4: said(890 * SECOND, waits_for=3),
        5: said(UNKNOWN, waits_for=3),
    }
    silent = "parse[0] silent 1m48s (try idle='30s')"
    assert shown(times) == {"parse": (890.0, silent), "count": (None, silent)}
