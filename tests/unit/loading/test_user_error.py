"""An error of the user's code points at their line, never at ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tasks.emitter import Emitter

from heronpy.component import make_component
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import Source
from heronpy.loading import UserFailure, describe_user_error, import_user_module, resolve_class
from heronpy.tuple import tuple_class

FILE = """\
import json
import sys
from heronpy import BasicBolt, Spout
from helper import help_out

class Bad(BasicBolt):
    def process(self, tup):
        raise ValueError("first line\\nsecond line")

    def deep(self):
        help_out(json.loads)

    def leave(self):
        sys.exit(3)

    def stop(self):
        raise KeyboardInterrupt

    def empty(self):
        assert False

    def chained(self):
        try:
            self.deep()
        except ValueError as error:
            raise RuntimeError("later") from error

    def broken(self):
        import broken

    def unprintable(self):
        class Mute(Exception):
            def __str__(self):
                raise ValueError
        raise Mute

    def spec_of_nothing(self):
        Spout.spec("words", par=0)

    def misspells(self, tup):
        return tup.wrod
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "wordcount.py").write_text(FILE)
    (tmp_path / "helper.py").write_text("def help_out(loads):\n    return loads('{')\n")
    (tmp_path / "broken.py").write_text("x = (\n")
    return Source(file=str(tmp_path / "wordcount.py"), paths=(str(tmp_path),))


class Engine:
    logger = None

    def fail(self, tup: object) -> None:
        pass


def failure_of(source: Source, method: str, *arguments: object) -> UserFailure:
    bolt = make_component(resolve_class(source, "__main__.Bad"), Engine())
    try:
        getattr(bolt, method)(*arguments)
    except BaseException as error:
        return describe_user_error(error, source)
    raise AssertionError(method)


@pytest.mark.parametrize(
    ("method", "summary"),
    [
        (
            "deep",
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
            " (helper.py:2 in help_out)",
        ),
        ("leave", "called sys.exit(3) (wordcount.py:14 in leave)"),
        ("stop", "interrupted (wordcount.py:17 in stop)"),
        ("empty", "AssertionError (wordcount.py:20 in empty)"),
        ("chained", "RuntimeError: later (wordcount.py:26 in chained)"),
        ("unprintable", "Mute: (its message cannot be shown) (wordcount.py:35 in unprintable)"),
        ("broken", "SyntaxError: '(' was never closed: x = ( (broken.py:1)"),
        (
            "spec_of_nothing",
            "parallelism of 'words' must be an integer of at least 1, got 0"
            " (wordcount.py:38 in spec_of_nothing)",
        ),
    ],
)
def test_the_summary_is_one_line_with_the_users_place(source: Source, method: str, summary: str) -> None:
    assert failure_of(source, method).summary == summary


def test_frames_of_the_engine_are_left_out(source: Source) -> None:
    failure = failure_of(source, "process", object())
    assert failure.summary == "ValueError: first line second line (wordcount.py:8 in process)"
    assert (failure.file, failure.line) == (source.file, 8)
    frames = [line.strip() for line in failure.traceback.splitlines() if line.startswith("  File")]
    assert frames[-1] == f'File "{source.file}", line 8, in process'
    assert [frame.split('"')[1] for frame in frames] == [__file__, source.file]


def test_a_misspelt_field_is_answered_with_those_there_are(source: Source) -> None:
    tup = tuple_class(("word", "count"))._make((1, "words", "default", 1, ["a", 1]))
    failure = failure_of(source, "misspells", tup)
    answer = "AttributeError: no field 'wrod' in stream 'default' of 'words'; did you mean 'word'?"
    assert failure.summary == f"{answer} (wordcount.py:41 in misspells)"
    # the log has the traceback, and must be as helpful
    assert failure.traceback.splitlines()[-1] == answer


def test_a_chain_of_errors_is_told_whole(source: Source) -> None:
    told = failure_of(source, "chained").traceback
    assert told.index("JSONDecodeError") < told.index("direct cause") < told.index("RuntimeError: later")


def test_an_error_at_import_points_at_the_import(source: Source) -> None:
    path = Path(source.file)
    path.write_text("x = 1\nimport kafak\n")
    try:
        import_user_module(source)
    except ImportError as error:
        failure = describe_user_error(error, source)
    assert failure.summary == "ModuleNotFoundError: No module named 'kafak' (wordcount.py:2)"
    assert "importlib" not in failure.traceback


def test_an_error_with_no_frame_of_the_users_is_told_all_the_same() -> None:
    failure = describe_user_error(DefinitionError("nothing there"))
    assert (failure.summary, failure.file, failure.line) == ("nothing there", "", 0)
    assert "nothing there" in failure.traceback


def test_emit_of_one_value_says_what_emit_takes() -> None:
    emitter = Emitter()
    with pytest.raises(TypeError) as caught:
        emitter.collector.emit(1, "default", None, False)  # type: ignore[arg-type]
    assert describe_user_error(caught.value).summary.startswith(
        "TypeError: 'int' object is not iterable: emit() takes a list of values, as in self.emit([1])"
    )
