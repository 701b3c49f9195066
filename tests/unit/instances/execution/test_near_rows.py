"""Neighbours in a process: what one emits is the other's own, whatever either of them does with it."""

from __future__ import annotations

from typing import Any

from heronpy import Bolt, Grouping, Spout, TopologyBuilder, Tuple
from heronpy.instances.execution.many_tasks import ManyTasks
from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.near_rows import NearRows
from heronpy.instances.output.codec import PlainCodec, SerializerCodec
from heronpy.instances.output.payloads import packed
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel.flow.batches import RowBatch
from heronpy.kernel.flow.frame import Prefix
from heronpy.serializer import PythonSerializer
from heronpy.testing.placing import placed


class Source(Spout):
    outputs = ["number", "text", "things"]
    total = 3

    def initialize(self, config: Any, context: Any) -> None:
        self.things: list[Any] = []
        self.emitted = 0

    def next_tuple(self) -> None:
        if self.emitted < self.total:
            self.emitted += 1
            self.things.append(self.emitted)
            self.emit([self.emitted, "x" * self.emitted, self.kept()])

    def kept(self) -> Any:
        return self.things


class Plain(Source):
    def kept(self) -> Any:
        return None


class Careless(Bolt):
    """Changes all that it gets."""

    def initialize(self, config: Any, context: Any) -> None:
        self.got: list[list[Any]] = []

    def process(self, tup: Tuple) -> None:
        values: Any = tup.values
        self.got.append([value.copy() if isinstance(value, list) else value for value in values])
        if isinstance(values[2], list):
            values[2].clear()
        values.clear()


class Listening(MemoryLinks):
    """Notes what is handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.handed: list[object] = []

    def near(self, task: int) -> Any:
        hand_over = super().near(task)

        def noted(prefix: Prefix, payload: Any) -> None:
            self.handed.append(type(payload))
            assert hand_over is not None
            hand_over(prefix, payload)

        return noted if hand_over is not None else None


def ran(source: type[Spout]) -> tuple[list[Task], Listening]:
    builder = TopologyBuilder("near")
    spec = builder.add_spout("source", source, 1)
    builder.add_bolt("sink", Careless, 2, {spec: Grouping.ALL})
    plan, find = placed(builder, 1)
    links = Listening()
    loop, tasks = ManyTasks(links), []
    for placement in plan.tasks:
        link = links.open(placement.id)
        task = build_task(plan, placement.id, 1, link, FlowSettings(), find, may_wait=False, near=links.near)
        link.handler, link.on_batch = task.on_frame, task.exchange.on_batch
        loop.add(placement.id, task, link)
        tasks.append(task)
    for task in tasks:
        task.initialize()
    for _ in range(100):
        loop.wake_all()
        loop.round()
    return tasks, links


def test_a_list_arrives_as_it_was_when_it_was_emitted_and_every_task_has_its_own() -> None:
    tasks, links = ran(Source)
    expected = [[1, "x", [1]], [2, "xx", [1, 2]], [3, "xxx", [1, 2, 3]]]
    sinks: list[Any] = [task.component for task in tasks if isinstance(task.component, Careless)]
    assert [sink.got for sink in sinks] == [expected, expected]
    assert set(links.handed) == {bytes}


def test_values_that_cannot_change_are_handed_over_without_a_codec_in_lists_of_their_own() -> None:
    tasks, links = ran(Plain)
    expected = [[1, "x", None], [2, "xx", None], [3, "xxx", None]]
    sinks: list[Any] = [task.component for task in tasks if isinstance(task.component, Careless)]
    assert [sink.got for sink in sinks] == [expected, expected]
    assert set(links.handed) == {NearRows}


def test_rows_have_about_the_size_that_they_would_have_on_a_wire() -> None:
    codec = PlainCodec()
    rows = [(number, "word" * (number % 7)) for number in range(1000)]
    payload, _ = packed(RowBatch(rows, []), codec, near=True)
    assert isinstance(payload, NearRows)
    assert len(payload) == len(codec.encode(rows[::125])) * 1000 // 8


def test_what_may_change_or_has_a_serializer_of_its_own_is_encoded() -> None:
    codec, serializer = PlainCodec(), SerializerCodec(PythonSerializer())
    batch = RowBatch([codec.freeze(([],))], [])
    assert packed(batch, codec, near=True) == packed(batch, codec, near=False)
    served = serializer.freeze(("text",))
    assert isinstance(packed(RowBatch([served], []), serializer, near=True)[0], bytes)
