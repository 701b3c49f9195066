"""The packing interface: how many containers, and which instance runs in which."""

from __future__ import annotations

import abc
from collections.abc import Mapping

from heronpy.kernel.config import Config
from heronpy.kernel.plans import LogicalPlan, PackingPlan


class ResourceManager(abc.ABC):
    """Packs a topology into containers. Selected with `--packing NAME`.

    A resource manager decides and does nothing else: no file, no socket, no clock. It is made
    fresh for each topology, so it may keep what it likes between `initialize` and `close`.
    """

    @abc.abstractmethod
    def initialize(self, config: Config, topology: LogicalPlan) -> None:
        """Called once, first, with the topology as it was submitted, also when it has been scaled since.

        Raise a PackingError here or later for a request that cannot be met.
        """

    @abc.abstractmethod
    def pack(self) -> PackingPlan:
        """The first plan of a topology. Task ids count from 1."""

    @abc.abstractmethod
    def repack(self, current: PackingPlan, changes: Mapping[str, int]) -> PackingPlan:
        """A plan after `changes`, which are deltas per component, may be negative, and leave at least one.

        Keep every instance that stays where it is, never use a task id again, raise the epoch by one; of a
        component that keeps any, the lowest task id goes last. `current.key_groups` is the table in force;
        a different table in the returned plan assigns the key groups to new owners. `changes` may be empty:
        then only the key groups may change.
        """

    def close(self) -> None:  # noqa: B027 - optional
        """Called once, last, also after an error."""
