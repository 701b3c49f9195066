"""The runner interface: where a pipeline runs."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Source

if TYPE_CHECKING:
    from heronpy.pipeline.graph import Graph


class UnsupportedOnRunner(UserError):
    """A pipeline has something that the runner cannot carry. Raised before anything starts."""

    def __init__(self, runner: str, feature: str, step: str, site: object, *, hint: str) -> None:
        super().__init__(f"the runner {runner!r} has no {feature}: step {step!r} at {site}", hint=hint)
        self.feature, self.step = feature, step


@dataclass(frozen=True)
class RunTotals:
    """What a run has done, in records by step."""

    read: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)
    #: skipped or set aside, because the step's function raised
    failed: Mapping[str, int] = field(default_factory=dict)
    #: a sentence for each step that dropped late records
    late: tuple[str, ...] = ()


class Runner(abc.ABC):
    """Runs planned pipelines. Selected by `heronpy run FILE --runner NAME`.

    One is made in the process that has loaded the user's file, so the plan has the user's functions in it. A
    runner carries a plan exactly, or refuses it by name; its results are those of every other runner.
    """

    #: whether pipelines become topologies of the engine, which `submit`, `update` and the other verbs know;
    #: then the verbs start them, and `run` is not called
    as_topology: ClassVar[bool] = False
    #: how a pipeline runs with it, in a few words that `heronpy run` shows when it begins
    note: ClassVar[str] = ""

    @abc.abstractmethod
    def initialize(self, config: Config) -> None:
        """Called once, first."""

    def check(self, plan: Graph) -> None:  # noqa: B027 - optional
        """Raise an UnsupportedOnRunner for what this runner cannot carry. Must not start anything."""

    @abc.abstractmethod
    def run(self, plan: Graph, source: Source) -> RunTotals:
        """Run a plan until its input has ended; `source` says where the user's file and modules are.

        A step that fails is a UserError that names step, file and line. KeyboardInterrupt ends the run, and
        nothing of it is left.
        """

    def close(self) -> None:  # noqa: B027 - optional
        """Called once, last, also after an error."""
