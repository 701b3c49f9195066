"""A checkpoint cuts the input of a task behind the same barrier on every channel."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from heronpy.instances.input.alignment import Alignment
from heronpy.kernel.flow.signals import Barrier

#: (channel, number of the item on its channel)
Letter = tuple[int, int]


class Desk:
    """A task's inbox, and what each channel has brought so far."""

    def __init__(self, channels: int) -> None:
        self.inbox: deque[Letter | Barrier] = deque()
        self.alignment: Alignment[Letter] = Alignment(self.inbox, range(channels))
        self.brought = dict.fromkeys(range(channels), 0)
        #: (checkpoint, channel) → what the channel had brought before its barrier
        self.before: dict[tuple[int, int], int] = {}

    def item(self, channel: int) -> None:
        letter = (channel, self.brought[channel])
        self.brought[channel] += 1
        if channel in self.alignment.ahead:
            self.alignment.set_aside(letter)
        else:
            self.inbox.append(letter)

    def barrier(self, channel: int, checkpoint: int) -> None:
        self.before.setdefault((checkpoint, channel), self.brought[channel])
        self.alignment.on_barrier(channel, checkpoint)

    def cuts(self) -> list[int]:
        return [entry.checkpoint for entry in self.inbox if isinstance(entry, Barrier)]

    def letters(self) -> list[Letter]:
        return [entry for entry in self.inbox if not isinstance(entry, Barrier)]


def test_what_is_behind_a_barrier_waits_until_the_slowest_channel_has_it() -> None:
    desk = Desk(2)
    desk.item(0)
    desk.barrier(0, 1)
    desk.item(0)
    desk.item(1)
    assert list(desk.inbox) == [(0, 0), (1, 0)]
    desk.barrier(1, 1)
    desk.item(1)
    assert list(desk.inbox) == [(0, 0), (1, 0), Barrier(1), (0, 1), (1, 1)]


def test_with_one_channel_nothing_waits() -> None:
    desk = Desk(1)
    desk.item(0)
    desk.barrier(0, 7)
    desk.item(0)
    assert list(desk.inbox) == [(0, 0), Barrier(7), (0, 1)]


def test_a_later_barrier_takes_the_place_of_one_that_never_came_everywhere() -> None:
    desk = Desk(2)
    desk.barrier(0, 1)
    desk.item(0)
    desk.barrier(1, 2)
    desk.item(1)
    assert list(desk.inbox) == [(0, 0)]
    desk.barrier(1, 1)  # late, and of no use any more
    desk.barrier(0, 2)
    assert list(desk.inbox) == [(0, 0), Barrier(2), (1, 0)]


def test_a_checkpoint_that_is_given_up_holds_nothing_back_and_does_not_come_again() -> None:
    desk = Desk(2)
    desk.barrier(0, 3)
    desk.item(0)
    desk.alignment.give_up(3)
    assert list(desk.inbox) == [(0, 0)]
    desk.barrier(1, 3)
    desk.barrier(0, 3)
    desk.item(1)
    assert list(desk.inbox) == [(0, 0), (1, 0)]
    desk.alignment.give_up(2)  # an old word changes nothing
    desk.barrier(0, 4)
    desk.barrier(1, 4)
    assert desk.cuts() == [4]


def test_an_emitter_that_starts_anew_ends_the_wait_for_its_barrier() -> None:
    desk = Desk(2)
    desk.barrier(0, 1)
    desk.item(0)
    desk.alignment.on_restart(1)
    desk.barrier(1, 1)
    assert list(desk.inbox) == [(0, 0)]


def test_a_barrier_is_not_awaited_from_a_task_that_the_plan_does_not_have_any_more() -> None:
    desk = Desk(3)
    desk.barrier(0, 1)
    desk.barrier(1, 1)
    desk.item(0)
    desk.alignment.use_channels([0, 1])
    assert list(desk.inbox) == [Barrier(1), (0, 0)]


def test_a_barrier_is_awaited_from_a_task_that_the_plan_has_got() -> None:
    desk = Desk(1)
    desk.alignment.use_channels([0, 1])
    desk.brought[1] = 0
    desk.barrier(0, 1)
    assert desk.cuts() == []
    desk.barrier(1, 1)
    assert desk.cuts() == [1]


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[int, list[tuple[str, int, int]]]:
    """What some channels bring, each with barriers that only rise, and words of the master in between."""
    channels = draw(st.integers(1, 4))
    newest = dict.fromkeys(range(channels), 0)
    events: list[tuple[str, int, int]] = []
    for _ in range(draw(st.integers(0, 60))):
        what = draw(st.sampled_from(["item", "item", "item", "barrier", "barrier", "barrier", "give_up"]))
        channel = draw(st.integers(0, channels - 1))
        checkpoint = 0
        if what == "barrier":
            checkpoint = newest[channel] = newest[channel] + draw(st.integers(1, 2))
        elif what == "give_up":
            checkpoint = draw(st.integers(0, 1 + max(newest.values())))
        events.append((what, channel, checkpoint))
    return channels, events


@given(interleavings())
def test_whatever_comes_in_whatever_order_a_cut_has_on_every_channel_what_was_before_its_barrier(
    drawn: tuple[int, list[tuple[str, int, int]]],
) -> None:
    channels, events = drawn
    desk = Desk(channels)
    for what, channel, checkpoint in events:
        if what == "item":
            desk.item(channel)
        elif what == "barrier":
            desk.barrier(channel, checkpoint)
        else:
            desk.alignment.give_up(checkpoint)
    cuts = desk.cuts()
    assert cuts == sorted(set(cuts))
    seen = dict.fromkeys(range(channels), 0)
    for entry in desk.inbox:
        if isinstance(entry, Barrier):
            assert seen == {channel: desk.before[entry.checkpoint, channel] for channel in range(channels)}
        else:
            channel, number = entry
            assert number == seen[channel]
            seen[channel] += 1
    held = {channel: desk.brought[channel] - seen[channel] for channel in range(channels)}
    assert all(held[channel] == 0 for channel in range(channels) if channel not in desk.alignment.ahead)
    # Nothing is lost: once nobody waits any more, all of it has come, and each channel's in order.
    desk.alignment.give_up(1_000)
    assert sorted(desk.letters()) == sorted(
        (one, n) for one in desk.brought for n in range(desk.brought[one])
    )
    for one, count in desk.brought.items():
        assert [n for source, n in desk.letters() if source == one] == list(range(count))
