"""Config that is given while a topology runs: when a task has it, and who is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.instances.control_events import ControlEvents, EventInbox
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.task.build import Task, build_task
from heronpy.instances.task.runtime_config import RuntimeConfig
from heronpy.testing.placing import placed

SPOUT, BOLT = 1, 2


class Words(Spout):
    outputs = ("word",)

    def initialize(self, config: dict[str, Any], context: object) -> None:
        self.config = config

    def next_tuple(self) -> None:
        self.emit(["a"], tup_id=1)


class Sink(Bolt):
    def initialize(self, config: dict[str, Any], context: object) -> None:
        self.told = [config.get("limit")]

    def on_config(self, config: dict[str, Any]) -> None:
        self.told.append(config["limit"])

    def process(self, tup: object) -> None:
        pass


class Shop(Topology):
    words = Words.spec()
    sink = Sink.spec(inputs={words: Grouping.SHUFFLE}, config={"limit": 1})
    config = {"topology.reliability.mode": "ATLEAST_ONCE", "topology.max.spout.pending": 5}


class Silent:
    """A link that leads nowhere."""

    stopping = False

    def send(self, prefix: bytes, payload: bytes) -> None:
        pass

    def pump(self, timeout: float) -> None:
        pass


class Running:
    """A task with its attention, and the level that the control thread would have."""

    def __init__(self, task: int, given: dict[str, dict[str, Any]]) -> None:
        plan, find = placed(Shop, 1)
        self.task: Task = build_task(plan, task, 1, Silent(), FlowSettings(), find)
        self.news = SimpleNamespace(news=0)
        self.given = given
        self.attention = EventInbox(cast("ControlEvents", self.news))
        self.attention.listeners.append(RuntimeConfig(self.task, lambda: self.given))
        self.task.initialize()

    def give(self, given: dict[str, dict[str, Any]]) -> None:
        self.given = given
        self.news.news += 1


def test_a_component_is_told_between_two_tuples_and_only_of_what_changes() -> None:
    running = Running(BOLT, {})
    sink = cast("Sink", running.task.component)
    running.attention.look()
    running.give({"": {"limit": 2}, "sink": {"limit": 3}, "words": {"limit": 9}})
    running.attention.peek()
    assert sink.told == [1]
    running.attention.look()
    running.give(running.given)
    running.attention.look()
    assert sink.told == [1, 3]


def test_who_starts_later_begins_with_what_was_given() -> None:
    running = Running(BOLT, {"sink": {"limit": 7}})
    running.attention.look()
    assert cast("Sink", running.task.component).told == [7]


def test_limits_of_trees_take_effect_and_the_dict_of_initialize_is_the_one_that_changes() -> None:
    running = Running(SPOUT, {})
    words, tracker = cast("Words", running.task.component), running.task.parts.tracker
    assert tracker is not None
    words.next_tuple()
    assert (tracker.pending, tracker.patience) == (1, 1.5)
    running.give({"": {"topology.max.spout.pending": 1, "topology.message.timeout.secs": 2, "mine": "x"}})
    running.attention.look()
    assert tracker.full
    assert tracker.patience == 0.1
    assert words.config["mine"] == "x"
