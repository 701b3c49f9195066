"""The minimum over many channels: what it is, and what it costs to speak."""

from __future__ import annotations

import random
from typing import ClassVar

import pytest

from heronpy.kernel.flow.watermarks import END, UNKNOWN, LowWatermark


class Counted(int):
    """A watermark; how often watermarks were compared is counted."""

    compared: ClassVar[int] = 0

    def __lt__(self, other: int) -> bool:
        Counted.compared += 1
        return super().__lt__(other)

    def __gt__(self, other: int) -> bool:
        Counted.compared += 1
        return super().__gt__(other)


@pytest.mark.parametrize("slow", [False, True])
def test_what_a_channel_says_is_not_compared_with_what_each_other_has_said(slow: bool) -> None:
    channels = 1000
    low = LowWatermark(range(channels))
    Counted.compared = 0
    for time in range(10):
        for channel in range(slow, channels):  # where one is slow, entries of the others pile up behind it
            low.say(channel, Counted(time))
    assert low.value == (UNKNOWN if slow else 9)
    assert Counted.compared < 10 * channels * 25


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_minimum_over_those_that_are_neither_idle_nor_ended(seed: int) -> None:
    dice = random.Random(seed)
    low, said, value = LowWatermark("abcd"), dict.fromkeys("abcd", (UNKNOWN, False)), UNKNOWN
    for _ in range(300):
        channel, at = (
            dice.choice("abcd"),
            dice.choice([*range(100), *([END] if dice.random() < 0.05 else [])]),
        )
        idle = dice.random() < 0.4
        said[channel] = max(said[channel][0], at), idle
        left = [(at, idle) for at, idle in said.values() if at < END]
        waited_for = [at for at, idle in left if not idle]
        was, all_idle = (low.value, low.idle), bool(left) and not waited_for
        value = value if all_idle else max(value, min(waited_for, default=END))
        news = low.say(channel, at, idle=idle)
        assert (low.value, low.idle) == (value, all_idle)
        assert news == (was != (value, all_idle))
        assert set(low.waited_for) == {name for name, (at, idle) in said.items() if at < END and not idle}
