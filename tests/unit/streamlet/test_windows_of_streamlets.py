"""Streamlets with windows of processing time, in this process.

Windows are a hundred years long, so that all elements are in the same ones, whenever the test runs.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from support.pipelines.streamlets import consumed, joined

from heronpy.streamlet.keyedwindow import KeyedWindow
from heronpy.streamlet.window import Window
from heronpy.streamlet.windowconfig import WindowConfig

CENTURY = timedelta(days=36_500)
ONE = WindowConfig.create_tumbling_window(CENTURY)
#: each moment is in two of them
TWO = WindowConfig.create_sliding_window(CENTURY, CENTURY / 2)
PAIRS = [("a", 1), ("b", 2), ("a", 3)]


def results(found: list[Any]) -> list[tuple[Any, Any]]:
    """Key and value of each result."""
    assert all(isinstance(window, KeyedWindow) for window, _ in found)
    return [(window.get_key(), value) for window, value in found]


def test_the_values_of_a_key_are_reduced_in_their_order() -> None:
    found = consumed(
        [("a", "x"), ("b", "y"), ("a", "z")],
        lambda pairs: pairs.reduce_by_key_and_window(ONE, lambda one, other: one + other),
    )
    assert sorted(results(found)) == [("a", "xz"), ("b", "y")]


def test_a_window_that_slides_has_the_elements_of_each_of_its_spans() -> None:
    found = consumed(PAIRS, lambda pairs: pairs.reduce_by_key_and_window(TWO, lambda one, other: one + other))
    assert Counter(results(found)) == {("a", 4): 2, ("b", 2): 2}
    assert len({str(window) for window, _ in found}) == 4


def test_a_window_of_all_elements_begins_with_none() -> None:
    found = consumed([3, 4], lambda n: n.reduce_by_window(ONE, lambda so_far, one: (so_far, one)))
    assert [value for _, value in found] == [((None, 3), 4)]
    assert isinstance(found[0][0], Window)


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("join", {("k", (1, 3)), ("k", (2, 3))}),
        ("outer_left_join", {("k", (1, 3)), ("k", (2, 3)), ("left", (5, None))}),
        ("outer_right_join", {("k", (1, 3)), ("k", (2, 3)), ("right", (None, 6))}),
        ("outer_join", {("k", (1, 3)), ("k", (2, 3)), ("left", (5, None)), ("right", (None, 6))}),
    ],
)
def test_values_of_a_key_are_joined_each_with_each(how: str, found: set[Any]) -> None:
    left, right = [("k", 1), ("k", 2), ("left", 5)], [["k", 3], ["right", 6]]
    made = joined(left, right, lambda one, other: getattr(one, how)(other, ONE, lambda x, y: (x, y)))
    assert Counter(results(made)) == dict.fromkeys(found, 1)


def test_results_of_a_window_can_be_reduced_again() -> None:
    found = consumed(
        PAIRS,
        lambda pairs: (
            pairs.reduce_by_key_and_window(ONE, max)
            .map(lambda result: result[1])
            .reduce_by_window(ONE, lambda so_far, value: (so_far or 0) + value)
        ),
    )
    assert [value for _, value in found] == [5]


def test_what_is_no_pair_is_refused_with_the_element() -> None:
    with pytest.raises(Exception, match="pairs of key and value, for the record 7"):
        consumed([7], lambda n: n.reduce_by_key_and_window(ONE, max))


def test_windows_print_as_apaches() -> None:
    window = Window(1, 11)
    assert repr(window) == "Window {start_time: 1, end_time: 11}"
    keyed = KeyedWindow("a", window)
    assert str(keyed) == f"KeyedWindow {{key: a, window: {window}}}"
    assert (keyed.get_key(), keyed.get_window()) == ("a", window)
    assert (window.get_start_time(), window.get_end_time()) == (1, 11)
    with pytest.raises(RuntimeError, match="not 3"):
        KeyedWindow("a", 3)  # type: ignore[arg-type]


class TestWindowConfigs:
    @pytest.mark.parametrize("seconds", [10, timedelta(seconds=10)])
    def test_seconds_are_numbers_or_timedeltas(self, seconds: Any) -> None:
        config = WindowConfig.create_sliding_window(seconds, timedelta(seconds=2))
        assert config._window_duration == timedelta(seconds=10)
        assert config._slide_interval == timedelta(seconds=2)
        tumbling = WindowConfig.create_tumbling_window(seconds)
        assert tumbling._window_duration == tumbling._slide_interval == timedelta(seconds=10)

    @pytest.mark.parametrize(
        ("duration", "slide", "said"),
        [
            (timedelta(milliseconds=1500), 1, "not whole seconds"),
            (10, timedelta(microseconds=1), "not whole seconds"),
            ("10s", 2, "the window duration '10s' is not whole seconds"),
            (0, 0, "not whole seconds"),
            (2, 10, "leaves out what lies between"),
        ],
    )
    def test_other_windows_are_refused(self, duration: Any, slide: Any, said: str) -> None:
        with pytest.raises(RuntimeError, match=re.escape(said)):
            WindowConfig.create_sliding_window(duration, slide)
