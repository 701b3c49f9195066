"""Records with two event times: what goes by one of them does not wait for the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.testing import PipelineTest, on_time

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Order(NamedTuple):
    """Seconds behind noon."""

    made: int
    paid: int


def orders() -> Pipeline:
    p = Pipeline("orders")
    read = p.read(sources.items(list[Order]()), name="orders")
    by_made = read.event_time(lambda order: NOON + timedelta(seconds=order.made), lag="0s")
    by_paid = read.event_time(lambda order: NOON + timedelta(seconds=order.paid), lag="0s")
    for name, timed in {"made": by_made, "paid": by_paid}.items():
        timed.key_by(lambda _: "all").window(tumbling("1m")).count(name=name, par=2).write(sinks.printed())
    return p


FIRST, SECOND = on_time("all", 1, "12:00", "12:01"), on_time("all", 2, "12:01", "12:02")


def test_windows_by_one_time_do_not_wait_for_the_other() -> None:
    with PipelineTest(orders()) as run:
        run.feed("orders", Order(10, 0), Order(70, 1))
        assert run.panes("made") == [FIRST]
        assert run.panes("paid") == []
        run.feed("orders", Order(71, 90))
        assert run.panes("paid") == [on_time("all", 2, "12:00", "12:01")]


def test_crashes_and_scaling_leave_each_its_own_time() -> None:
    with PipelineTest(orders()) as run:
        run.feed("orders", Order(10, 0), Order(70, 1))
        run.checkpoint()
        run.crash("orders")
        run.rescale("made", 3)
        assert run.watermark_of("made") == NOON + timedelta(seconds=70)
        assert run.watermark_of("paid") == NOON + timedelta(seconds=1)
        run.rescale("paid", 1)
        run.feed("orders", Order(80, 2), Order(120, 3))
        assert run.panes("made") == [FIRST, SECOND]
        run.crash("made")
        assert run.panes("made") == [FIRST, SECOND]
        run.finish("orders")
        assert run.panes("made") == [FIRST, SECOND, on_time("all", 1, "12:02", "12:03")]
        assert run.panes("paid") == [on_time("all", 4, "12:00", "12:01")]
        assert run.late_dropped("made") == run.late_dropped("paid") == 0


def test_what_goes_by_both_waits_for_both() -> None:
    p = Pipeline("both")
    read = p.read(sources.items(list[Order]()), name="orders")
    by_made = read.event_time(lambda order: NOON + timedelta(seconds=order.made), lag="0s")
    by_paid = read.event_time(lambda order: NOON + timedelta(seconds=order.paid), lag="0s")
    merged = by_made.merge(by_paid).key_by(lambda _: "all")
    merged.window(tumbling("1m")).count(name="both").write(sinks.printed())
    with PipelineTest(p) as run:
        run.feed("orders", Order(70, 10))
        assert run.panes("both") == []
        run.feed("orders", Order(70, 60))
        assert run.panes("both") == [on_time("all", 1, "12:00", "12:01")]
