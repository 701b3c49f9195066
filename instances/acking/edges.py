"""Random edges from a source of our own: a component may seed the common one, and others seed it alike."""

from __future__ import annotations

import os
import random

_source = random.Random()
# Instances are forked from one process, and must not all make the same edges.
os.register_at_fork(after_in_child=_source.seed)

#: of so many bits
random_bits = _source.getrandbits
