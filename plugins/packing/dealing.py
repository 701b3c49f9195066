"""Dealing instances to containers in turn: whether it can work, worked out without dealing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from heronpy.plugins.packing.capacity import Size, total_size


class Run(NamedTuple):
    """So many instances of one size, dealt one after the other."""

    length: int
    size: Size


def fewest_containers(runs: Sequence[Run], room: Size, at_least: int) -> int:
    """The smallest number of containers, from `at_least` on, into which a strict deal fits.

    Every instance must fit an empty container, so one container for each is the last resort.
    """
    total = sum(run.length for run in runs)
    start = max(at_least, filled_by(total_size(run.size.times(run.length) for run in runs), room))
    return next((count for count in range(start, total) if deal_fits(runs, count, room)), total)


def filled_by(load: Size, room: Size) -> int:
    """How many containers the load would fill if it could be cut at will: a lower bound."""
    filled = (-(-amount // space) for amount, space in zip(load, room, strict=True) if amount > 0)
    return max(filled, default=0)


def deal_fits(runs: Sequence[Run], containers: int, room: Size) -> bool:
    """Whether instance i can go to container i modulo `containers`, for every i.

    A run gives every container length // containers instances, and one more to those on an arc that begins
    where the run before it ended. So the load changes only where an arc begins or ends, and those places
    are few: this is what makes trying thousands of counts affordable.
    """
    every = total_size(run.size.times(run.length // containers) for run in runs)
    steps: defaultdict[int, list[Size]] = defaultdict(list)
    steps[0].append(every)
    position = 0
    for run in runs:
        begin, end = position, position + run.length % containers
        steps[begin].append(run.size)
        if end >= containers:
            end -= containers
            steps[0].append(run.size)
        steps[end].append(run.size.times(-1))
        position = end
    load = Size(0, 0, 0, 0)
    for place in sorted(steps):
        load = total_size([load, *steps[place]])
        if any(amount > space for amount, space in zip(load, room, strict=True)):
            return False
    return True
