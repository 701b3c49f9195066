"""Random edges from a source of our own: a component may seed the common one, and others seed it alike."""

from __future__ import annotations

import functools
import operator
import os
import random
from array import array
from collections.abc import Iterable

_source = random.Random()
# Instances are forked from one process, and must not all make the same edges.
os.register_at_fork(after_in_child=_source.seed)

#: of so many bits
random_bits = _source.getrandbits


def random_edges(count: int) -> list[int]:
    """So many edges, for the price of about one."""
    return array("Q", _source.randbytes(8 * count)).tolist()


def xor_of(edges: Iterable[int]) -> int:
    """What the acks of all these edges add up to."""
    return functools.reduce(operator.xor, edges, 0)
