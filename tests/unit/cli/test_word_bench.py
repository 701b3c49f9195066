"""What `heronpy bench words` counts: the words, the oracle of their counts, and the bolt's progress."""

from __future__ import annotations

import random
from collections import Counter
from itertools import cycle, islice
from pathlib import Path

import pytest

from heronpy.bench_words import BLOCK, Tally, WordBlock, merged, tally
from heronpy.cli.measuring.word_progress import WordProgress


@pytest.mark.parametrize("zipf", [False, True])
@pytest.mark.parametrize("words", [0, 1, 999, BLOCK, 2 * BLOCK + 7])
def test_the_oracle_agrees_with_counting_the_words_one_by_one(words: int, zipf: bool) -> None:
    block = WordBlock(keys=50, zipf=zipf)
    counts = Counter(islice(cycle(block.words()), words))
    assert block.expected(range(words)) == tally(counts.items())


def test_the_oracle_adds_up_what_several_spouts_have_emitted_each_from_where_it_began() -> None:
    block = WordBlock(keys=50, zipf=False)
    words, begin = block.words(), block.begin(1, 2)
    assert (block.begin(0, 2), begin) == (0, BLOCK // 2)
    first, second = words[:1234], [*words[begin:], *words, *words[: begin + 5]]
    spans = range(1234), range(begin, begin + len(second))
    assert block.expected(*spans) == tally(Counter(first + second).items())
    assert block.expected(*spans) != block.expected(range(1234 + len(second)))


def test_tallies_of_several_bolts_add_up_unless_two_have_counted_the_same_key() -> None:
    counts = [("word3", 2), ("word1", 5), ("word10", 1)]
    assert merged([tally(counts[:1]), tally(counts[1:])]) == tally(counts)
    assert merged([tally([("word3", 1)]), tally([("word3", 1)])]) != tally([("word3", 2)])


def test_the_words_are_the_same_for_everybody_and_zipf_has_frequent_ones() -> None:
    assert WordBlock(1000, False).words() == WordBlock(1000, False).words()
    uniform, skewed = (Counter(WordBlock(1000, zipf).numbers()) for zipf in (False, True))
    assert len(uniform) == len(skewed) == 1000
    assert max(uniform.values()) < 2 * BLOCK / 1000
    assert skewed[0] > BLOCK / 10


def test_a_tally_tells_counts_apart_but_not_their_order() -> None:
    counts = [("word3", 2), ("word1", 5), ("word10", 1)]
    assert tally(counts) == Tally(words=8, distinct=3, squares=30, weighted=21)
    shuffled = random.sample(counts, 3)
    assert tally(shuffled) == tally(counts)
    assert tally([("word3", 5), ("word1", 2), ("word10", 1)]) != tally(counts)


def test_progress_is_read_between_two_steps_in_proportion(tmp_path: Path) -> None:
    assert WordProgress.read(tmp_path / "progress").seen == 0
    (tmp_path / "progress").write_text("10.0 100\n12.0 300\n13.0 300\n13.5 4")
    progress = WordProgress.read(tmp_path / "progress")
    assert (progress.until, progress.seen) == (13.0, 300)
    assert [progress.at(moment) for moment in (9.0, 10.0, 10.5, 12.0, 12.5, 14.0)] == [
        0,
        100,
        150,
        300,
        300,
        300,
    ]


def test_progress_of_all_tasks_begins_with_the_last_and_is_known_until_the_slowest(tmp_path: Path) -> None:
    (tmp_path / "progress-7").write_text("10.0 100\n12.0 300\n")
    assert WordProgress.of_all(tmp_path, 2).seen == 0
    (tmp_path / "progress-8").write_text("10.0 0\n11.0 50\n13.0 70\n")
    progress = WordProgress.of_all(tmp_path, 2)
    assert (progress.until, progress.seen) == (12.0, 370)
    assert progress.at(11.0) == 200 + 50
