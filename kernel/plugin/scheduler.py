"""The scheduling interface: start, stop and watch containers somewhere."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal

import msgspec

from heronpy.kernel.config import Config
from heronpy.kernel.plans import PackingPlan, Resources


class Shipped(msgspec.Struct, frozen=True):
    """A file that must lie in the folder where a container starts."""

    #: its name there
    name: str
    #: where the uploader has put it; empty for a secret
    url: str
    #: where it is on the machine that submitted; empty when it is not here
    path: str
    sha256: str
    bytes: int
    #: travels only by a way that keeps it to the container, as a file that only its owner can read
    secret: bool = False


class Launch(msgspec.Struct, frozen=True):
    """All that is needed to start one container anywhere."""

    container: int
    #: for a remote scheduler the first word, the Python to use, may be empty: then the scheduler chooses
    argv: tuple[str, ...]
    #: added to the environment of the new process
    environment: Mapping[str, str]
    #: absolute paths that must exist, unchanged, where the container runs
    files: tuple[str, ...]
    resources: Resources
    #: where the container's processes write their logs
    log_folder: str
    #: of a remote scheduler: what to put into the folder that the container starts in
    shipped: tuple[Shipped, ...] = ()


class Launcher(abc.ABC):
    """Handed to a scheduler by the engine; describes containers without starting anything."""

    topology: str
    #: of this submit alone, in small letters and digits
    execution: str

    @abc.abstractmethod
    def container(self, container_id: int) -> Launch:
        """How to start this container. Container 0 is the Topology Master's."""

    def host(self) -> Launch:
        """How to start the scheduler's own process on another machine, see `Scheduler.start_host`."""
        raise NotImplementedError


class ContainerExit(msgspec.Struct, frozen=True):
    """A container that ended without being asked to."""

    container: int
    #: exit status, or minus the signal number; None when it is not known (an adopted process)
    status: int | None
    #: why, in one line, if the scheduler knows more than the status says
    reason: str = ""


#: exit status of a container that no restart can help: a plugin is missing there, or it has another Python
HOPELESS = 78


class Scheduler(abc.ABC):
    """Runs the containers of one topology. Selected with `--scheduler NAME`.

    The engine hosts the scheduler in a background process of its own and calls it from one thread.
    A *stateful* scheduler reports exits through `watch()`; the engine applies the back-off and calls
    `on_restart`. A *stateless* one leaves restarts to its framework and yields nothing.
    """

    #: True when the scheduler sees containers exit and relies on the engine to restart them
    stateful: bool = True
    #: whether containers run on when the process that hosts the scheduler has ended; else `close` ends them
    containers_outlive_host: ClassVar[bool] = True
    #: what restarts the engine's process with this scheduler when it has died: container 0, a process
    #: beside it on the same machine (where containers end with it, or run elsewhere), or its framework
    keeper: ClassVar[Literal["master", "beside", "framework"]] = "master"
    #: distributions that must be installed where it is hosted, if that is another machine
    distributions: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def remote(cls, config: Config) -> bool:
        """Whether containers run where paths of this machine mean nothing.

        Then what they need is packed and uploaded at submit: a Launch has `shipped` files to put into the
        folder that a container starts in, and its argv refers to them by name.
        """
        del config
        return False

    @classmethod
    def preflight(cls, config: Config, plan: PackingPlan) -> None:
        """Before anything is written or started: raise a UserError if it cannot work."""
        del config, plan

    def start_host(self, config: Config, launcher: Launcher) -> bool:
        """Start the process that hosts this scheduler on another machine, as `launcher.host()` says.

        Called instead of everything else on the machine that submits; returns when that process runs.
        False, without having done anything, where the host belongs on this machine.
        """
        del config, launcher
        return False

    @abc.abstractmethod
    def initialize(self, config: Config, launcher: Launcher) -> None:
        """Called once, first."""

    @abc.abstractmethod
    def on_schedule(self, plan: PackingPlan) -> None:
        """Start container 0 and every container of the plan."""

    @abc.abstractmethod
    def on_kill(self) -> None:
        """End every container and return when nothing of them is left. Must be safe to repeat."""

    @abc.abstractmethod
    def on_restart(self, containers: Sequence[int]) -> None:
        """End these containers if they run, then start them again; touch no other.

        They may be stopped, or hang: what is left of them must be gone before the next ones start.
        """

    @abc.abstractmethod
    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        """Start the containers that only `proposed` has; end those that only `current` has.

        Raise when there is no room: the update is rolled back, and the error is the reason that the user
        sees. It is then called again with the plans the other way round, to end whatever was started.
        """

    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        """Containers that ended by themselves; waits at most `timeout` seconds for the first."""
        del timeout
        return iter(())

    def wake(self) -> None:  # noqa: B027 - optional
        """Make a `watch` that waits return now. The one method that is called from another thread.

        Optional: a scheduler that does not have it gets short timeouts instead.
        """

    def adopt(self, plan: PackingPlan) -> Iterable[int]:
        """Take over containers that an earlier scheduler process started; returns the ids that run."""
        del plan
        return ()

    def waiting(self) -> Mapping[int, str]:
        """Containers that were asked for and have no room yet, and why, in one line that the user sees."""
        return {}

    def links(self) -> Mapping[str, str]:
        """Where a person can look: name to address or path. Asked for when the containers are started."""
        return {}

    def close(self) -> None:  # noqa: B027 - optional
        """Called once, last. Must leave the containers running if they can outlive it, and else end them."""
