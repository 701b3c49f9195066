"""Streamlets in production's tasks: operators with state through crashes and other numbers of tasks."""

from __future__ import annotations

from typing import Any

from heronpy.connectors.mock.arraylooper import ArrayLooper
from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.context import Context
from heronpy.streamlet.streamlet import Streamlet
from heronpy.streamlet.transformoperator import TransformOperator
from heronpy.streamlet.windowconfig import WindowConfig
from heronpy.testing import PipelineTest

LETTERS = "abcdefgh"


class Numbered(TransformOperator):
    """Emits its partition, how often it was set up or had an element before, and the element."""

    def setup(self, context: Context) -> None:
        self.context, self.state = context, context.get_state()

    def transform(self, tup: Any) -> None:
        number = self.state.get("number", 0)
        self.state.put("number", number + 1)
        self.context.emit((self.context.get_partition_index(), number, tup.values[0]))


def built(steps: Any, now: str = "00:00") -> PipelineTest:
    """At effectively once, from a source that is called `letters`."""
    builder, config = Builder(), Config()
    config.set_delivery_semantics(Config.EFFECTIVELY_ONCE)
    letters: Streamlet = builder.new_source(ArrayLooper(LETTERS)).set_name("letters")
    steps(letters).set_name("last").log()
    return PipelineTest(builder.build("p", config), now=now)


def numbers_of(found: list[Any]) -> dict[int, list[int]]:
    """The numbers that each partition has given."""
    numbers: dict[int, list[int]] = {}
    for partition, number, _ in found:
        numbers.setdefault(partition, []).append(number)
    return numbers


def test_the_state_of_a_partition_survives_crashes_and_other_numbers_of_tasks() -> None:
    with built(lambda letters: letters.transform(Numbered()).set_num_partitions(2)) as run:
        run.feed("letters", *"abcd")
        run.checkpoint()
        run.feed("letters", *"ef")
        run.crash("last")
        for tasks in (1, 3, 2):
            run.rescale("last", tasks)
            run.feed("letters", *"gh")
        found = run.results("last")
    assert numbers_of(found) == {0: [0, 1, 2, 3, 4, 5], 1: [0, 1, 2, 3, 4, 5]}
    assert sorted(letter for *_, letter in found) == sorted("abcdefghghgh")


def test_a_partition_function_decides_which_task_has_an_element() -> None:
    with built(lambda letters: letters.repartition(3, lambda letter: LETTERS.index(letter))) as run:
        run.feed("letters", *LETTERS)
        run.rescale("last", 2)
        run.feed("letters", *LETTERS)
        assert sorted(run.results("last")) == sorted(LETTERS * 2)


def windows_of(found: list[Any]) -> list[tuple[str, str, Any]]:
    """Start and end of each result's window, in minutes and seconds, and its value."""

    def shown(time: int) -> str:
        return f"{time // 60 % 60:02}:{time % 60:02}"

    return [(shown(window.get_start_time()), shown(window.get_end_time()), value) for window, value in found]


def test_windows_go_by_the_time_at_which_elements_come() -> None:
    """Four seconds long, one ends every two; with a crash and another number of tasks in between."""

    def reduced(letters: Streamlet) -> Streamlet:
        window = WindowConfig.create_sliding_window(4, 2)
        by_key = letters.map(lambda letter: ("key", letter)).reduce_by_key_and_window(window, str.__add__)
        return by_key.map(lambda result: (result[0].get_window(), result[1]))

    with built(reduced, now="12:00:01") as run:
        run.feed("letters", *"ab")
        run.advance("1.5s")
        run.checkpoint()
        run.crash("last")
        run.feed("letters", "c")
        run.rescale("last", 3)
        run.advance("8s")
        run.feed("letters", "d")
        run.advance("4s")
        found = windows_of(run.written("log-1"))
    assert found == [
        ("59:58", "00:02", "ab"),
        ("00:00", "00:04", "abc"),
        ("00:02", "00:06", "c"),
        ("00:08", "00:12", "d"),
        ("00:10", "00:14", "d"),
    ]
