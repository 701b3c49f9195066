"""What a task counts, as the samples that leave its process."""

from __future__ import annotations

import psutil

from heronpy.instances.counters import Counters
from heronpy.instances.process.usage import Usage
from heronpy.instances.user_metrics import sample_metrics


def told(counters: Counters) -> dict[tuple[str, ...], tuple[float, str]]:
    """Samples by name and label values."""
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): (sample.value, sample.kind)
        for sample in counters.samples()
    }


def test_a_task_that_did_nothing_says_so() -> None:
    assert told(Counters()) == {
        **{
            (name,): (0.0, "counter")
            for name in ("acked", "failed", "busy_seconds", "calls", "missing", "rejected", "poisoned")
        },
        ("waiting_seconds",): (0.0, "counter"),
        ("maybe_lost",): (0.0, "gauge"),
        ("queued",): (0.0, "gauge"),
        ("pending",): (0.0, "gauge"),
        ("pending_limit",): (0.0, "gauge"),
    }


def test_a_process_says_what_it_uses_however_many_tasks_it_holds() -> None:
    said = {sample.name: sample for sample in Usage().samples()}
    kinds = {"cpu_seconds": "counter", "memory_bytes": "gauge", "started_seconds": "gauge"}
    assert {name: sample.kind for name, sample in said.items()} == kinds
    assert all(sample.value > 0 for sample in said.values())
    seen = psutil.Process()
    assert abs(said["started_seconds"].value - seen.create_time()) < 1.0, "the kernel counts ticks"
    assert 0.5 < said["memory_bytes"].value / seen.memory_info().rss < 2


def test_tuples_are_counted_by_stream_and_by_who_sent_them() -> None:
    counters = Counters()
    counters.emitted = {"default": 3, "errors": 1}
    counters.executed = {("line", "default"): 5, ("file", "default"): 7}
    said = told(counters)
    assert {key: value for key, value in said.items() if key[0] in ("emitted", "executed")} == {
        ("emitted", "default"): (3.0, "counter"),
        ("emitted", "errors"): (1.0, "counter"),
        ("executed", "line", "default"): (5.0, "counter"),
        ("executed", "file", "default"): (7.0, "counter"),
    }


def test_time_lost_to_a_slow_reader_is_counted_by_who_that_is() -> None:
    counters = Counters()
    counters.held_up_seconds = lambda: {"count[1]": 2.5}
    assert told(counters)["held_up_seconds", "count[1]"] == (2.5, "counter")


def test_plain_numbers_go_out_as_they_are() -> None:
    counters = Counters()
    counters.calls, counters.busy_seconds, counters.waiting_seconds = 10, 0.25, 0.5
    counters.failed, counters.queued = 2, 64
    said = told(counters)
    assert [said[(name,)] for name in ("calls", "busy_seconds", "waiting_seconds", "failed", "queued")] == [
        (10.0, "counter"),
        (0.25, "counter"),
        (0.5, "counter"),
        (2.0, "counter"),
        (64.0, "gauge"),
    ]


class Metric:
    """What user code registers: reading it starts its next bucket."""

    def __init__(self, value: object) -> None:
        self._value = value

    def get_value_and_reset(self) -> object:
        value, self._value = self._value, 0
        return value


def test_the_users_own_metrics_go_out_under_their_names() -> None:
    counters = Counters()
    sample_metrics("hits", Metric(4), counters.custom)
    sample_metrics("status", Metric({"200": 3, "404": 1.5, "note": "text"}), counters.custom)
    sample_metrics("odd", Metric("text"), counters.custom)
    assert {key: value for key, value in told(counters).items() if key[0] == "custom"} == {
        ("custom", "hits"): (4.0, "gauge"),
        ("custom", "status/200"): (3.0, "gauge"),
        ("custom", "status/404"): (1.5, "gauge"),
    }


def test_a_bucket_that_was_read_starts_again() -> None:
    counters, hits = Counters(), Metric(4)
    for expected in (4.0, 0.0):
        sample_metrics("hits", hits, counters.custom)
        assert counters.custom == {"hits": expected}
