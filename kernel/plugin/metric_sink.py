"""The metrics interface: where a container's numbers go."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from heronpy.kernel.config import Config


class Sample(msgspec.Struct, frozen=True):
    """One number of one process, already added up."""

    name: str
    value: float
    #: "counter" only grows while the process lives; "gauge" is as of now
    kind: str
    #: component, task, container, stream, …
    labels: Mapping[str, str]


class MetricSink(abc.ABC):
    """Takes the samples of one container. Chosen by `metrics.sinks`; runs in the Metrics Manager."""

    #: distributions, besides the plugin's own and what that requires, that must be installed where it is used
    distributions: ClassVar[tuple[str, ...]] = ()

    @classmethod  # noqa: B027 - optional
    def preflight(cls, config: Config, containers: Sequence[int], *, here: bool) -> None:
        """Called at submit, before anything is started. Raise a UserError if a sink could not start.

        `containers` are the numbers of those that will have one; `here` means on this machine.
        """

    @abc.abstractmethod
    def initialize(self, config: Config, topology: str, container: int, folder: str) -> None:
        """Called once, first. `folder` is the container's own and exists."""

    @abc.abstractmethod
    def write(self, at: float, samples: Sequence[Sample]) -> None:
        """Called about once a second with everything known at wall-clock time `at`. Must not block long."""

    def close(self) -> None:  # noqa: B027 - optional
        """Called once, last."""
