"""What a component learns from its context, and the hooks that hang on it."""

from __future__ import annotations

import functools

import pytest

from heronpy import TopologyContext, global_metrics
from heronpy.definition import StreamId
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import (
    Component,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    LogicalPlan,
    PhysicalPlan,
    PlacedTask,
    Source,
)
from heronpy.loading import load_auto_hooks, resolve_class
from heronpy.metrics import CountMetric
from heronpy.stream import GroupingType
from heronpy.task_hook import (
    BoltAckInfo,
    BoltExecuteInfo,
    BoltFailInfo,
    EmitInfo,
    ITaskHook,
    SpoutAckInfo,
    SpoutFailInfo,
)
from heronpy.tuple import Tuple

WORDS = Component("words", "spout", "m.Words", 2, outputs=(DeclaredStream("default", ("word",)),))
COUNT = Component(
    "count", "bolt", "m.Count", 1, inputs=(Input("words", "default", DeclaredGrouping("fields", ("word",))),)
)
LOGICAL = LogicalPlan("wordcount", (WORDS, COUNT), source=Source(file="/somewhere/wordcount.py"))
PLAN = PhysicalPlan(
    "wordcount",
    1,
    LOGICAL,
    (PlacedTask(1, "words", 0, 1), PlacedTask(2, "words", 1, 1), PlacedTask(3, "count", 0, 1)),
    (("words", "default"),),
    {"count": (3,)},
)


find_class = functools.partial(resolve_class, Source())


def context_of_count() -> TopologyContext:
    return TopologyContext(PLAN, 3, {"limit": 5})


def test_a_component_knows_its_place() -> None:
    context = context_of_count()
    assert context.get_task_id() == 3
    assert context.get_component_id() == "count"
    assert context.get_topology_name() == "wordcount"
    assert context.get_topology_pex_path() == "/somewhere/wordcount.py"
    assert context.get_cluster_config() == {"limit": 5}
    assert context.get_component_tasks("words") == [1, 2]
    assert context.get_component_tasks("nobody") == []
    assert repr(context) == "<TopologyContext of count[0], task 3 of wordcount>"


def test_sources_are_keyed_by_stream_and_component() -> None:
    context = context_of_count()
    assert context.get_this_sources() == {StreamId("default", "words"): GroupingType.FIELDS}
    [source] = context.get_this_sources()
    assert (source.component_name, source.id) == ("words", "default")
    assert context.get_sources("words") == {}
    assert context.get_sources("nobody") is None


def test_metrics_are_kept_with_their_interval() -> None:
    context = context_of_count()
    metric = CountMetric()
    context.register_metric("seen", metric, 10)
    assert context.metrics == {"seen": (metric, 10)}
    with pytest.raises(RuntimeError, match="'seen' is registered already"):
        context.register_metric("seen", CountMetric(), 10)


def test_global_metrics_are_reported_under_their_own_name() -> None:
    context = context_of_count()
    global_metrics.init(context, 60)
    global_metrics.init(context, 60)
    global_metrics.incr("a.key.of.this.test", 2)
    global_metrics.safe_incr("a.key.of.this.test")
    metric, bucket = context.metrics["__auto__"]
    assert (metric.get_value_and_reset()["a.key.of.this.test"], bucket) == (3, 60)


class Diary(ITaskHook):
    """Writes down everything it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def prepare(self, conf: dict[str, object], context: TopologyContext) -> None:
        self.told.append(("prepare", conf, context.get_task_id()))

    def clean_up(self) -> None:
        self.told.append("clean_up")

    def emit(self, emit_info: EmitInfo) -> None:
        self.told.append(emit_info)

    def spout_ack(self, spout_ack_info: SpoutAckInfo) -> None:
        self.told.append(spout_ack_info)

    def spout_fail(self, spout_fail_info: SpoutFailInfo) -> None:
        self.told.append(spout_fail_info)

    def bolt_execute(self, bolt_execute_info: BoltExecuteInfo) -> None:
        self.told.append(bolt_execute_info)

    def bolt_ack(self, bolt_ack_info: BoltAckInfo) -> None:
        self.told.append(bolt_ack_info)

    def bolt_fail(self, bolt_fail_info: BoltFailInfo) -> None:
        self.told.append(bolt_fail_info)


def test_hooks_hear_of_everything() -> None:
    context = context_of_count()
    diary = Diary()
    context.add_task_hook(diary)
    tup = Tuple(1, "words", "default", 1, ["a"])
    context.invoke_hook_prepare()
    context.invoke_hook_emit(["a", 1], "default", [4])
    context.invoke_hook_spout_ack("id", 1.5)
    context.invoke_hook_spout_fail("id", 2.5)
    context.invoke_hook_bolt_execute(tup, 3.5)
    context.invoke_hook_bolt_ack(tup, 4.5)
    context.invoke_hook_bolt_fail(tup, 5.5)
    context.invoke_hook_cleanup()
    assert diary.told == [
        ("prepare", {"limit": 5}, 3),
        EmitInfo(["a", 1], "default", 3, [4]),
        SpoutAckInfo("id", 3, 1.5),
        SpoutFailInfo("id", 3, 2.5),
        BoltExecuteInfo(tup, 3, 3.5),
        BoltAckInfo(tup, 3, 4.5),
        BoltFailInfo(tup, 3, 5.5),
        "clean_up",
    ]
    with pytest.raises(TypeError, match="must be an ITaskHook"):
        context.add_task_hook("diary")  # type: ignore[arg-type]


def test_hooks_named_in_the_config_are_loaded() -> None:
    context = TopologyContext(PLAN, 3, {"topology.auto.task.hooks": ["heronpy.task_hook.ITaskHook"]})
    load_auto_hooks(context, find_class)
    assert [type(hook) for hook in context.task_hooks] == [ITaskHook]
    load_auto_hooks(context_of_count(), find_class)


def test_a_hook_that_is_none_is_refused() -> None:
    context = TopologyContext(PLAN, 3, {"topology.auto.task.hooks": ["heronpy.metrics.CountMetric"]})
    with pytest.raises(TopologyError, match=r"names 'heronpy.metrics.CountMetric', which is no ITaskHook"):
        load_auto_hooks(context, find_class)
    with pytest.raises(TopologyError, match="must be a list of class paths, got 'x'"):
        load_auto_hooks(TopologyContext(PLAN, 3, {"topology.auto.task.hooks": "x"}), find_class)
