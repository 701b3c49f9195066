"""Watermarks of channels and of key groups: the minimum over both, which never sinks for a group."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.flow.group_watermarks import GroupWatermarks
from heronpy.kernel.flow.watermarks import END, UNKNOWN, ChannelWatermarks


def test_there_is_no_minimum_until_all_channels_have_spoken() -> None:
    channels = ChannelWatermarks([1, 2], epoch=1)
    channels.say(1, 1, 10, idle=False)
    assert (channels.low, channels.lowest) == (None, 2)
    channels.say(2, 1, 12, idle=False)
    assert (channels.low, channels.lowest) == ((10, False), 1)
    channels.say(1, 1, 20, idle=False)
    assert (channels.low, channels.lowest) == ((12, False), 2)


def test_idle_and_ended_channels_are_not_waited_for() -> None:
    channels = ChannelWatermarks([1, 2, 3], epoch=1)
    channels.say(1, 1, 10, idle=True)
    channels.say(2, 1, 12, idle=False)
    channels.say(3, 1, END, idle=False)
    assert (channels.low, channels.lowest) == ((12, False), 2)
    channels.say(2, 1, 13, idle=True)
    assert (channels.low, channels.lowest) == ((UNKNOWN, True), None)
    channels.say(1, 1, END, idle=False)
    channels.say(2, 1, END, idle=False)
    assert channels.low == (END, False)


def test_what_a_plan_has_changed_is_unknown_until_it_speaks_by_that_plan() -> None:
    channels = ChannelWatermarks([1, 2, 3], epoch=1)
    for channel in (1, 2, 3):
        channels.say(channel, 1, 10 * channel, idle=False)
    channels.use_plan([2, 3, 4], [3, 4], epoch=2)
    channels.say(3, 1, 99, idle=False)
    assert (channels.low, channels.lowest) == (None, 3), "said by the plan before"
    channels.say(3, 2, 15, idle=False)
    channels.say(4, 2, 17, idle=False)
    assert channels.low == (15, False), "lower than what it said by the plan before"
    channels.say(2, 1, 16, idle=False)
    assert channels.low == (15, False)
    channels.say(1, 1, 0, idle=False)
    assert channels.low == (15, False), "it is no channel any more"


def test_groups_that_came_keep_what_they_had_until_the_channels_have_caught_up() -> None:
    groups = GroupWatermarks([1, 2])
    groups.advance(12)
    assert (groups.floor, groups.differ) == (12, False)
    groups.begin_anew([1, 2, 3], {3: 10})
    assert (groups.floor, [groups.of(group) for group in (1, 2, 3)]) == (10, [12, 12, 10])
    groups.advance(9)
    assert (groups.floor, groups.differ) == (10, True)
    groups.advance(11)
    assert (groups.floor, [groups.of(group) for group in (1, 2, 3)]) == (11, [12, 12, 11])
    groups.advance(12)
    assert (groups.floor, groups.differ) == (12, False)
    assert groups.all() == {1: 12, 2: 12, 3: 12}


CHANGES = st.lists(
    st.one_of(
        st.integers(0, 40),
        st.tuples(st.sets(st.integers(0, 5)), st.dictionaries(st.integers(0, 5), st.integers(0, 40))),
    ),
    max_size=20,
)


@given(CHANGES)
def test_each_group_is_the_maximum_of_its_own_and_what_the_channels_reached(
    changes: list[int | tuple[set[int], dict[int, int]]],
) -> None:
    groups, owned = GroupWatermarks(range(3)), set(range(3))
    reached, own = UNKNOWN, dict.fromkeys(range(3), UNKNOWN)
    for change in changes:
        if isinstance(change, int):
            groups.advance(change)
            reached = max(reached, change)
        else:
            now, came = change
            worked = {group: max(own[group], reached) for group in owned} | came
            groups.begin_anew(now, came)
            owned, reached = now, UNKNOWN
            own = {group: worked.get(group, UNKNOWN) for group in now}
        expected = {group: max(own[group], reached) for group in owned}
        assert {group: groups.of(group) for group in owned} == expected
        assert groups.floor == min(expected.values(), default=reached)
        assert groups.differ or set(expected.values()) <= {groups.floor}
