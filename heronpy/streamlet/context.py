"""What generators and transform operators know about the place where they run."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from heronpy.state import State


class Context(abc.ABC):
    """Handed to `setup`: one for each partition of a streamlet."""

    @abc.abstractmethod
    def get_task_id(self) -> int:
        """A number that no other partition of any streamlet has; rescaling does not change it."""

    @abc.abstractmethod
    def get_config(self) -> Mapping[str, Any]:
        """The config that the topology was submitted with."""

    @abc.abstractmethod
    def get_stream_name(self) -> str:
        """The stream that elements come from."""

    @abc.abstractmethod
    def get_num_partitions(self) -> int:
        """How many partitions the streamlet has."""

    @abc.abstractmethod
    def get_partition_index(self) -> int:
        """Which of them this is, from 0."""

    @abc.abstractmethod
    def get_state(self) -> State:
        """What is saved of the partition in checkpoints, and is back when `setup` is called again."""

    @abc.abstractmethod
    def emit(self, values: Any) -> None:
        """Adds an element to the streamlet."""
