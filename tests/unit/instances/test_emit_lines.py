"""A tuple that is too large for a frame is blamed on the line that emitted it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from heronpy import Bolt, Grouping, Spout, Stream, Topology
from heronpy.instances.task.emit_lines import emits_of, located
from heronpy.kernel.errors import TupleTooLarge
from heronpy.testing import TopologyTest

HINT = "(try: emit smaller tuples, or pass --set transport.frame_bytes=64MB)"


class Pictures(Spout):
    outputs = ["picture"]

    def next_tuple(self) -> None:
        for size in (10, 10, 200_000):
            self.emit(["x" * size])


class Shown(Bolt):
    def process(self, tup: Any) -> None: ...


class Gallery(Topology):
    pictures = Pictures.spec()
    shown = Shown.spec(inputs={pictures: Grouping.SHUFFLE})


class Two(Pictures):
    def initialize(self, config: Any, context: Any) -> None:
        self.emit_many([["first"]])


def line_of(cls: type, text: str) -> int:
    lines, first = inspect.getsourcelines(cls)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_it_is_found_when_the_batch_leaves_and_names_the_emit() -> None:
    emit = line_of(Pictures, "self.emit")
    small = {"transport.frame_bytes": "64KB"}
    with TopologyTest(Gallery, settings=small) as run, pytest.raises(TupleTooLarge) as caught:
        run.run_spouts(calls=1)
    assert str(caught.value) == (
        "a tuple of 200007 bytes on stream 'default' of 'pictures' does not fit into a frame of 65536 bytes;"
        f" it was emitted at test_emit_lines.py:{emit} {HINT}"
    )


def test_where_several_lines_emit_it_is_one_of_them() -> None:
    first, second = line_of(Two, "self.emit"), line_of(Pictures, "self.emit")
    assert emits_of(Two) == [f"test_emit_lines.py:{first}", f"test_emit_lines.py:{second}"]
    assert str(located(TupleTooLarge("too large"), Two)) == (
        f"too large; it was emitted at one of test_emit_lines.py:{first}, test_emit_lines.py:{second} {HINT}"
    )


class Streams(Spout):
    outputs = ["picture", Stream(fields=["name"], name="names"), Stream(fields=["why"], name="errors")]

    def next_tuple(self) -> None:
        self.emit(["x"])  # plain
        self.emit(["n"], stream="names")
        self.emit(["w"], stream="errors")


def test_of_several_lines_those_on_the_stream_are_named() -> None:
    assert emits_of(Streams, "names") == [f"test_emit_lines.py:{line_of(Streams, 'stream=')}"]
    assert emits_of(Streams, "default") == [f"test_emit_lines.py:{line_of(Streams, '# plain')}"]
    assert len(emits_of(Streams)) == 3


def test_a_class_without_a_file_has_no_lines() -> None:
    made = type("Made", (Spout,), {"__module__": "nowhere"})
    assert emits_of(made) == []
    assert str(located(TupleTooLarge("too large"), made)) == f"too large {HINT}"
