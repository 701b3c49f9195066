"""Rates out of counters, whatever order and rhythm the reports come in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heronpy.kernel.master.knowledge.meter import SPAN, Meter
from heronpy.kernel.protocol import MetricsReport, Sample


def report(incarnation: int = 1, custom: dict[str, float] | None = None, **counters: float) -> MetricsReport:
    samples = [Sample(name=name, value=value, kind="counter") for name, value in counters.items()]
    samples += [
        Sample(name="custom", value=value, kind="gauge", labels={"metric": name})
        for name, value in (custom or {}).items()
    ]
    return MetricsReport(task=1, incarnation=incarnation, samples=samples)


def fed(*reports: tuple[float, MetricsReport]) -> Meter:
    meter = Meter()
    for at, one in reports:
        meter.on_report(one, at)
    return meter


def test_a_meter_that_heard_nothing_says_nothing() -> None:
    meter = Meter()
    assert (meter.total("emitted"), meter.delta("emitted"), meter.rate("emitted")) == (0.0, 0.0, 0.0)
    assert meter.ratio("busy_seconds", "calls") == 0.0
    assert meter.custom == {}


def test_a_rate_is_what_was_added_between_two_reports() -> None:
    meter = fed((10.0, report(emitted=100)), (12.0, report(emitted=300)))
    assert (meter.total("emitted"), meter.delta("emitted"), meter.rate("emitted")) == (300.0, 200.0, 100.0)
    meter.on_report(report(emitted=350), 13.0)
    assert (meter.total("emitted"), meter.delta("emitted"), meter.rate("emitted")) == (350.0, 50.0, 50.0)


def test_the_first_report_gives_no_rate_since_nobody_knows_how_long_it_took() -> None:
    meter = fed((10.0, report(emitted=1_000_000, busy_seconds=2.0, calls=4)))
    assert (meter.total("emitted"), meter.rate("emitted")) == (1_000_000.0, 0.0)
    assert meter.ratio("busy_seconds", "calls") == 0.5


def test_streams_are_added_up() -> None:
    meter = Meter()
    streams = [
        Sample(name="emitted", value=n, kind="counter", labels={"stream": s}) for s, n in (("a", 1), ("b", 2))
    ]
    meter.on_report(MetricsReport(task=1, incarnation=1, samples=streams), 1.0)
    assert meter.total("emitted") == 3.0


def test_a_ratio_is_of_the_last_stretch_only() -> None:
    meter = fed((1.0, report(busy_seconds=10.0, calls=10)), (2.0, report(busy_seconds=10.5, calls=15)))
    assert meter.ratio("busy_seconds", "calls") == 0.1
    meter.on_report(report(busy_seconds=10.5, calls=15, cpu_seconds=1.0), 3.0)
    assert meter.ratio("busy_seconds", "calls") == 0.0


def test_a_replaced_process_starts_from_nothing() -> None:
    meter = fed((1.0, report(emitted=100, custom={"old": 1.0})), (2.0, report(emitted=200)))
    meter.on_report(report(incarnation=2, emitted=5, custom={"new": 2.0}), 3.0)
    assert (meter.total("emitted"), meter.rate("emitted"), meter.custom) == (5.0, 0.0, {"new": 2.0})
    meter.on_report(report(incarnation=2, emitted=15), 4.0)
    assert meter.rate("emitted") == 10.0


def test_what_was_dropped_is_added_up_over_all_lives_of_a_process() -> None:
    meter = fed((1.0, report(dropped=3)), (2.0, report(dropped=5)))
    for incarnation, at in ((2, 3.0), (3, 5.0)):
        meter.on_report(report(incarnation=incarnation, dropped=1), at)
        meter.on_report(report(incarnation=incarnation, dropped=2), at + 1)
    assert (meter.dropped, meter.total("dropped")) == (9.0, 2.0)


def test_a_late_word_of_the_predecessor_is_not_heard() -> None:
    meter = fed((1.0, report(incarnation=2, emitted=5)), (2.0, report(incarnation=1, emitted=900)))
    assert meter.total("emitted") == 5.0


def test_a_report_that_was_passed_on_twice_does_not_stop_the_rate() -> None:
    meter = fed(*((at, report(emitted=100 * at)) for at in (1.0, 2.0)), (3.0, report(emitted=200)))
    assert meter.rate("emitted") == 100.0
    meter.on_report(report(emitted=400), 4.0)
    assert meter.rate("emitted") == 100.0


def test_a_process_that_is_gone_comes_to_rest() -> None:
    meter = fed(*((at, report(emitted=100 * min(at, 2.0))) for at in (1.0, 2.0, 3.0, 4.0, 5.0)))
    assert (meter.total("emitted"), meter.rate("emitted")) == (200.0, 0.0)


def test_reports_that_were_held_up_and_come_at_once_make_no_peak() -> None:
    meter = fed((1.0, report(emitted=100)), (2.0, report(emitted=200)))
    for late, at in ((300, 5.0), (400, 5.001), (500, 5.002)):
        meter.on_report(report(emitted=late), at)
    assert meter.rate("emitted") == pytest.approx(100.0, rel=0.01)


def test_a_burst_as_the_first_thing_heard_makes_no_peak_either() -> None:
    meter = fed((5.0, report(emitted=100)), (5.001, report(emitted=200)))
    assert meter.rate("emitted") == 0.0


@settings(deadline=None)
@given(st.lists(st.floats(min_value=0.001, max_value=3.0), min_size=1, max_size=50))
def test_a_steady_process_has_a_steady_rate_however_often_it_reports(pauses: list[float]) -> None:
    meter, at = Meter(), 1000.0
    meter.on_report(report(emitted=0), at)
    started = at
    for pause in pauses:
        at += pause
        meter.on_report(report(emitted=100 * (at - started)), at)
    measurable = at - started >= SPAN
    assert meter.rate("emitted") == pytest.approx(100.0 if measurable else 0.0, rel=1e-6)


def test_a_counter_is_idle_since_the_report_in_which_it_last_grew() -> None:
    meter = Meter()
    assert meter.idle("emitted", now=50.0) == 0.0
    for at, emitted in ((10.0, 100), (12.0, 300), (15.0, 300), (20.0, 300)):
        meter.on_report(report(emitted=emitted, cpu_seconds=at), at)
    assert meter.idle("emitted", now=21.0) == 9.0
    assert meter.idle("executed", now=21.0) == 11.0, "a counter that never was there: since the first report"
    meter.on_report(report(incarnation=2, emitted=1), 30.0)
    assert meter.idle("emitted", now=31.0) == 1.0
