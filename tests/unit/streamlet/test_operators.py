"""Streamlets without windows: what each operator makes of elements, in this process."""

from __future__ import annotations

from typing import Any

import pytest
from support.pipelines.streamlets import Listed, consumed, joined

from heronpy import UserError
from heronpy.api.tuple import Tuple
from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.context import Context
from heronpy.streamlet.streamlet import Streamlet
from heronpy.streamlet.transformoperator import TransformOperator


def test_elements_are_mapped_filtered_and_flattened() -> None:
    found = consumed(
        ["to be", "or", "not to be"],
        lambda lines: lines.flat_map(str.split).filter(lambda word: word != "or").map(str.upper),
    )
    assert found == ["TO", "BE", "NOT", "TO", "BE"]


def test_a_flat_map_whose_result_has_no_items_gives_the_result() -> None:
    assert consumed([3, 4], lambda numbers: numbers.flat_map(lambda n: n * n)) == [9, 16]


def test_a_union_has_the_elements_of_both() -> None:
    assert sorted(joined([1, 3], [2, 4], lambda one, other: one.union(other))) == [1, 2, 3, 4]


def test_a_union_with_itself_has_each_element_twice() -> None:
    assert sorted(consumed([1, 2], lambda one: one.union(one))) == [1, 1, 2, 2]


def test_each_clone_has_all_elements() -> None:
    builder, found = Builder(), list[Any]()
    first, second = builder.new_source(Listed("ab")).clone(2)
    first.map(str.upper).consume(found.append)
    second.consume(found.append)
    builder.build("p", Config()).run()
    assert sorted(found) == ["A", "B", "a", "b"]


class Tagged(TransformOperator):
    """Numbers the elements of its partition, in its state."""

    def setup(self, context: Context) -> None:
        self.context, self.state = context, context.get_state()

    def transform(self, tup: Tuple) -> None:
        number = self.state.get("seen", 0) + 1
        self.state.put("seen", number)
        for _ in range(tup.values[0]):
            self.context.emit((self.context.get_partition_index(), number, tup.values[0], tup.component))


def test_a_transform_has_a_state_in_each_partition_and_emits_as_often_as_it_likes() -> None:
    found = consumed(
        [2, 1, 0, 1],
        lambda numbers: numbers.set_name("numbers").transform(Tagged()).set_num_partitions(2),
    )
    first, second = (0, 1, 2, "numbers"), [(1, 1, 1, "numbers"), (1, 2, 1, "numbers")]
    assert sorted(found) == [first, first, *second]


class Told(TransformOperator):
    """Emits what its context says."""

    def setup(self, context: Context) -> None:
        self.context = context

    def transform(self, tup: Tuple) -> None:
        context = self.context
        self.context.emit(
            (
                context.get_task_id(),
                context.get_partition_index(),
                context.get_num_partitions(),
                context.get_config()["colour"],
                context.get_stream_name(),
            )
        )


def test_a_context_says_which_partition_it_is_of_and_task_ids_are_of_one_each() -> None:
    builder, found, config = Builder(), list[Any](), Config()
    config.set_user_config("colour", "red")
    numbers = builder.new_source(Listed(range(4)))
    numbers.transform(Told()).set_num_partitions(2).consume(found.append)
    builder.build("p", config).run()
    assert sorted(set(found)) == [(2, 0, 2, "red", "output"), (3, 1, 2, "red", "output")]


class TestRepartitions:
    @pytest.mark.parametrize(
        "function", [lambda number: number % 3, lambda number, count: number % count], ids=["one", "two"]
    )
    def test_a_function_chooses_the_partition(self, function: Any) -> None:
        found = consumed(
            range(6), lambda numbers: numbers.repartition(3, function).map(lambda number: number * 10)
        )
        assert sorted(found) == [0, 10, 20, 30, 40, 50]

    def test_a_list_sends_an_element_to_several_partitions(self) -> None:
        found = consumed("ab", lambda letters: letters.repartition(4, lambda _: [0, 3]))
        assert sorted(found) == ["a", "a", "b", "b"]

    def test_without_a_function_elements_are_dealt_out(self) -> None:
        assert sorted(consumed("abc", lambda letters: letters.repartition(2))) == ["a", "b", "c"]


def named(build: Any) -> list[tuple[str, int | None]]:
    """The steps, and how many tasks each asks for."""
    builder = Builder()
    build(builder)
    return [(step.name, step.par) for step in builder.build("p", Config()).graph().steps]


def test_steps_are_called_as_apaches_components_unless_they_are_given_names() -> None:
    def build(builder: Builder) -> None:
        words = builder.new_source(Listed("ab")).set_num_partitions(2).map(str.upper).map(str.lower)
        words.set_name("small").set_num_partitions(3).log()
        builder.new_source(lambda: 1).consume(print)

    assert named(build) == [
        ("generator-1", 2),
        ("map-1", 2),
        ("small", 3),
        ("log-1", 3),
        ("supplier-1", 1),
        ("consume-1", 1),
    ]


def test_partitions_set_after_the_next_streamlet_do_not_change_it() -> None:
    def build(builder: Builder) -> None:
        letters = builder.new_source(Listed("ab"))
        upper = letters.map(str.upper)
        letters.set_num_partitions(4)
        upper.log()

    assert named(build) == [("generator-1", 4), ("map-1", 1), ("log-1", 1)]


def test_a_step_remembers_the_line_of_its_streamlet() -> None:
    builder = Builder()
    letters = builder.new_source(Listed("ab"))
    letters.map(int).consume(print)
    pipeline = builder.build("p", Config())
    lines = [step.site.line for step in pipeline.graph().steps]
    assert {step.site.file for step in pipeline.graph().steps} == {__file__}
    assert lines == [lines[0], lines[0] + 1, lines[0] + 1]
    with pytest.raises(UserError, match=rf"'map-1' failed at test_operators\.py:{lines[1]}.*the record 'a'"):
        pipeline.run()


class TestRefusals:
    def refused(self, build: Any) -> str:
        """Apache's errors are RuntimeErrors; ours are lines of a command, too."""
        with pytest.raises(RuntimeError) as caught:
            build(Builder())
        assert isinstance(caught.value, UserError)
        return str(caught.value)

    def test_a_source_must_be_a_generator_or_a_function(self) -> None:
        assert "a source is a Generator or a function, not [1]" in self.refused(lambda b: b.new_source([1]))

    def test_functions_must_be_functions(self) -> None:
        assert "map takes a function, not 1" in self.refused(lambda b: b.new_source(int).map(1))

    def test_a_transform_takes_an_operator(self) -> None:
        refused = self.refused(lambda b: b.new_source(int).transform(print))
        assert "transform takes a TransformOperator" in refused

    def test_two_streamlets_of_one_name(self) -> None:
        def build(builder: Builder) -> None:
            builder.new_source(int).set_name("a").map(abs).set_name("a").log()
            builder.build("p", Config())

        assert "two streamlets are called 'a' (try: set_name('a-2'))" in self.refused(build)

    def test_a_streamlet_of_another_builder(self) -> None:
        def build(builder: Builder) -> None:
            builder.new_source(int).union(Builder().new_source(int)).log()
            builder.build("p", Config())

        assert "one of its sources is not of this builder" in self.refused(build)

    @pytest.mark.parametrize("count", [0, -1, "2", True])
    def test_partitions_are_counted(self, count: Any) -> None:
        def build(builder: Builder) -> None:
            builder.new_source(int).set_num_partitions(count).log()
            builder.build("p", Config())

        assert f"cannot have {count!r} partitions" in self.refused(build)

    def test_what_writes_nothing_does_not_run(self) -> None:
        builder = Builder()
        streamlet = builder.new_source(int)
        assert isinstance(streamlet, Streamlet)
        with pytest.raises(UserError, match="writes nothing"):
            builder.build("p", Config()).run()
