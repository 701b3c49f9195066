"""A tuple on which processes die: who finds it, who counts, and what becomes of it and of the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.tasks.plans import SINK, SOURCE, edge, plan_of

from heronpy import Bolt, Tuple
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.poison.finding import Finding
from heronpy.instances.poison.guard import CAREFUL
from heronpy.instances.poison.history import MOST, History
from heronpy.instances.task.bolt_task import BoltTask
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel.flow.frame import DATA, Prefix, seal, unseal


class Death(BaseException):
    """Ends a call of user code as SIGKILL would: what the task does behind it is undone by the test."""


class Link:
    """Nobody hears what is sent."""

    stopping = False

    def send(self, prefix: bytes, payload: bytes) -> None:
        unseal(prefix, payload)

    def pump(self, timeout: float) -> None:
        pass


class Process:
    """One process of the bolt: it has a mark on disk, and dies on deadly words."""

    def __init__(self, folder: Path, deadly: str = "", *, batches: bool = False, **config: Any) -> None:
        self.seen: list[str] = []
        self.calls: list[int] = []
        self.now = 100.0
        plan = plan_of(edge("shuffle"))
        plan = msgspec.structs.replace(plan, logical=msgspec.structs.replace(plan.logical, config=config))
        self._finding = Finding(folder, folder, folder, "count", "count[0]")
        self._mark = folder / "count[0].mark"
        self._position = 0
        make = self._batching if batches else self._plain
        self.task: Task = build_task(
            plan, SINK, 1, Link(), FlowSettings(), lambda _: make(deadly), lambda: self.now,
            poison=self._finding,
        )  # fmt: skip
        self.task.initialize()

    @property
    def careful(self) -> bool:
        assert isinstance(self.task.loop, BoltTask)
        return self.task.loop._guard.careful

    def _die_or_see(self, deadly: str, tup: Tuple) -> None:
        if tup.word == deadly:
            self._left = self._mark.read_bytes()
            raise Death
        self.seen.append(tup.word)

    def _plain(self, deadly: str) -> type[Bolt]:
        process = self

        class Count(Bolt):
            def process(self, tup: Tuple) -> None:
                process.calls.append(1)
                process._die_or_see(deadly, tup)

        return Count

    def _batching(self, deadly: str) -> type[Bolt]:
        process = self

        class Count(Bolt):
            def process_batch(self, tuples: list[Tuple]) -> None:
                process.calls.append(len(tuples))
                for tup in tuples:
                    process._die_or_see(deadly, tup)

        return Count

    def bring(self, *words: str) -> bool:
        """Process a frame; False if the process dies of it. Its mark is then as the death left it."""
        payload = PlainCodec().encode([(word, 0) for word in words])
        prefix = Prefix(DATA, SINK, SOURCE, 0, len(words), 1, 1, 0, self._position)
        self._position += len(words)
        self.task.on_frame(*seal(prefix, payload))
        try:
            while self.task.turn() is Turn.MORE:
                pass
        except Death:
            self._mark.write_bytes(self._left)
            return False
        return True


def after_deaths(folder: Path, deaths: int, make: Callable[[], Process]) -> Process:
    for _ in range(deaths):
        assert not make().bring("fine", "bad", "behind")
    return make()


def test_a_tuple_is_skipped_after_three_deaths_and_kept_aside(tmp_path: Path) -> None:
    process = after_deaths(tmp_path, 3, lambda: Process(tmp_path, "bad"))
    assert process.bring("fine", "bad", "behind")
    assert process.seen == ["fine", "behind"]
    assert process.task.parts.counters.poisoned == 1
    (line,) = (tmp_path / "count[0].poison.log").read_text().splitlines()
    assert json.loads(line) == {
        "component": "words", "task": 1, "stream": "default", "deaths": 3, "values": "('bad', 0)",
        "data": "kZKjYmFkAA==",
    }  # fmt: skip
    assert Process(tmp_path)._finding.shown == "('bad', 0) of stream 'default' from words (task 1), 3 deaths"


def test_the_task_stands_still_before_it_if_it_is_told_to(tmp_path: Path) -> None:
    config: dict[str, Any] = {"topology.poison": "stop", "topology.poison.deaths": 2}
    process = after_deaths(tmp_path, 2, lambda: Process(tmp_path, "bad", **config))
    assert process.bring("fine", "bad", "behind")
    assert process.task.halted
    assert process.bring("later")
    assert process.seen == ["fine"]
    assert process.task.parts.counters.queued == 3, "for the tuple and all behind it no credit is given"


def test_a_bolt_of_batches_gets_one_tuple_at_a_time_while_it_is_careful(tmp_path: Path) -> None:
    process = after_deaths(tmp_path, 3, lambda: Process(tmp_path, "bad", batches=True))
    assert process.bring("fine", "bad", "behind")
    assert (process.seen, process.calls) == (["fine", "behind"], [1, 1])
    assert Process(tmp_path / "other", batches=True).bring("a", "b")


def test_deaths_with_a_success_in_between_do_not_add_up(tmp_path: Path) -> None:
    after_deaths(tmp_path, 2, lambda: Process(tmp_path, "bad"))
    assert Process(tmp_path).bring("bad"), "a process that was killed from outside, maybe"
    process = after_deaths(tmp_path, 2, lambda: Process(tmp_path, "bad"))
    assert not process.bring("bad")


def test_a_task_is_careful_for_a_while_after_a_death_and_not_before(tmp_path: Path) -> None:
    first = Process(tmp_path, "bad")
    assert not first.careful
    assert not first.bring("bad")
    second = Process(tmp_path)
    for later, careful in ((0.0, True), (CAREFUL / 2, True), (CAREFUL, False)):
        second.now += later
        assert second.bring("good")
        assert second.careful is careful


def test_an_error_that_is_raised_is_no_death(tmp_path: Path) -> None:
    process = Process(tmp_path)
    process._die_or_see = lambda *_: 1 / 0  # type: ignore[method-assign, assignment]
    with pytest.raises(ZeroDivisionError):
        process.bring("bad")
    assert not Process(tmp_path).careful


def test_a_history_keeps_the_newest_tuples_only() -> None:
    history = History()
    for number in range(MOST + 10):
        history = history.after_death(number.to_bytes(2, "big"))
    assert len(history.deaths) == MOST
    assert history.deaths[f"{MOST + 9:04x}"] == 1
    assert "0009" not in history.deaths
