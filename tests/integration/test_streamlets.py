"""Apache Heron's own examples of streamlets, unchanged, on the engine: what they log."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from support.running.engine import Engine, wait_until

APACHE = Path(__file__).parents[1] / "fixtures/apache"
RESULT = re.compile(
    r"\(KeyedWindow {key: (\w+), window: Window {start_time: (\d+), end_time: (\d+)}}, ('?)(\w+)\4\)"
)

#: start and end of a window → key and value of its results, in the order of the log
Logged = dict[tuple[int, int], list[tuple[str, str]]]


def logged(engine: Engine, name: str) -> Logged:
    """What a topology has logged so far, but for the last window, of which there may be more."""
    found: Logged = defaultdict(list)
    for key, start, end, _, value in RESULT.findall(engine.ok("logs", name, "log-1[0]", "--lines", "10000")):
        found[int(start), int(end)].append((key, value))
    for last in list(found)[-1:]:
        del found[last]
    return found


@pytest.mark.cluster
def test_apaches_examples_run_unchanged(engine: Engine) -> None:
    engine.ok("submit", str(APACHE / "join_streamlet_topology.py"), "Joined")
    engine.ok("submit", str(APACHE / "word_count_streamlet.py"), "Words")
    wait_until(lambda: len(logged(engine, "Words")) >= 2, 60, "windows of words", engine.log_tails)
    words = logged(engine, "Words")
    engine.ok("kill", "Words")
    assert {end - start for start, end in words} == {10}
    ends = [end for _, end in words]
    assert ends == list(range(ends[0], ends[-1] + 1, 2))
    for window in words.values():
        counts = {word: int(count) for word, count in window}
        assert len(counts) == len(window) == 8
        # a line's words have its time, and lines take turns
        (mary,) = {counts[word] for word in ("Mary", "Had", "a", "little", "lamb")}
        (love,) = {counts[word] for word in ("I", "Love", "You")}
        assert abs(mary - love) <= 1

    wait_until(lambda: len(logged(engine, "Joined")) >= 3, 60, "windows of pairs", engine.log_tails)
    joined = logged(engine, "Joined")
    engine.ok("kill", "Joined")
    assert {end - start for start, end in joined} == {2}
    assert {key for window in joined.values() for key, _ in window} == {"key1"}
    for window in joined.values():
        left = [pair[0] for _, pair in window]
        right = [pair[1] for _, pair in window]
        assert {pair for _, pair in window} == {one + other for one in left for other in right}
        assert set(left) <= {"a", "b"}
        assert set(right) <= {"c", "d"}
    assert engine.leftovers() == []
