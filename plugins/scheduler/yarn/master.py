"""The ApplicationMaster's side of YARN: requests containers, starts them, collects their exits."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from heronpy.kernel.config import Config
from heronpy.kernel.errors import HeronError, UserError
from heronpy.kernel.plans import Resources
from heronpy.kernel.plugin import ContainerExit, Launch
from heronpy.plugins.scheduler.yarn.contexts import Contexts, size, wanted
from heronpy.plugins.scheduler.yarn.diagnostics import exit_of
from heronpy.plugins.scheduler.yarn.hadoop import IN_A_MASTER, configuration
from heronpy.plugins.scheduler.yarn.java import Java, kind, said

log = logging.getLogger(__name__)

#: names what the ApplicationMaster's folder is; only an ApplicationMaster has it
FOLDER = "_HERONPY_YARN_FOLDER"
#: where the module `secrets` was uploaded to
SECRETS_URL = "_HERONPY_YARN_SECRETS"
#: folders in it with the jars and with Hadoop's configuration
JARS, CONF = "jars", "conf"

#: seconds between two heartbeats: while containers are on their way, and else
_SOON, _LATER = 0.2, 0.5
#: seconds after which a container that YARN has not allocated is reported as waiting
_LONG = 10.0
#: seconds between two checks of a container that ends
_LOOK = 0.1
#: seconds that a node gets to end a container by force
_FORCE_SECONDS = 10.0

#: answers to a heartbeat which mean that this ApplicationMaster is replaced or the application is over
_REPLACED = ("ApplicationAttemptNotFoundException", "InvalidToken")

#: answers of a node which mean that it does not have the container
_UNKNOWN = ("YarnException", "NotFoundException")


class _Ask(msgspec.Struct, frozen=True):
    """A container that YARN has not allocated yet."""

    request: Any
    launch: Launch
    #: when, by time.monotonic()
    since: float


class _Held(msgspec.Struct, frozen=True):
    """A container that YARN has allocated, and that was started."""

    id: Any
    node: Any


class Master:
    """Registered with the ResourceManager. Containers are known by the numbers that heronpy gives them.

    A thread of its own sends heartbeats; results are reported by `on_news` and `exits`. YARN returns
    the number with each container (its allocationRequestId), also to a later ApplicationMaster.
    """

    def __init__(self, folder: Path, config: Config, on_news: Callable[[], None]) -> None:
        self._on_news = on_news
        self._patience = config.number("kill.timeout")
        self._lock = threading.Lock()
        self._asked: dict[int, _Ask] = {}
        self._held: dict[int, _Held] = {}
        self._exits: list[ContainerExit] = []
        self._failure = ""
        self._closing = False
        self._turn = threading.Event()
        self._java = Java([folder / CONF, *sorted((folder / JARS).glob("*.jar"))])
        self._conf = configuration(self._java, config, IN_A_MASTER)
        self._contexts = Contexts(self._java, self._conf, os.environ.get(SECRETS_URL, ""))
        api = self._java.yarn.client.api
        self._manager = self._started(api.AMRMClient.createAMRMClient())
        self._client = self._started(api.YarnClient.createYarnClient())
        self._nodes = self._started(api.NMClient.createNMClient())
        # close() leaves containers running
        self._nodes.cleanupRunningContainersOnStop(False)
        self._register()
        self._thread = threading.Thread(target=self._beat, name="yarn-heartbeats", daemon=True)
        self._thread.start()

    @property
    def link(self) -> str:
        """Where the ResourceManager shows the application."""
        container = self._java.records.ContainerId.fromString(os.environ["CONTAINER_ID"])
        application = container.getApplicationAttemptId().getApplicationId().toString()
        address = self._java.yarn.webapp.util.WebAppUtils.getRMWebAppURLWithScheme(self._conf)
        return f"{address}/cluster/app/{application}"

    def held(self) -> list[int]:
        """Containers that run."""
        with self._lock:
            return sorted(self._held)

    def ask(self, launches: Mapping[int, Launch]) -> None:
        """Request these, to be started when YARN has room, unless they run or are requested already."""
        for container, launch in launches.items():
            self._refuse_too_large(container, launch.resources)
        with self._lock:
            for container, launch in launches.items():
                if container not in self._held and container not in self._asked:
                    request = self._request(container, launch.resources)
                    self._manager.addContainerRequest(request)
                    self._asked[container] = _Ask(request, launch, time.monotonic())
        self._turn.set()

    def end(self, containers: Collection[int]) -> None:
        """End these; returns when they are gone, or out of reach: then YARN ends them."""
        with self._lock:
            for container in containers:
                if (ask := self._asked.pop(container, None)) is not None:
                    self._manager.removeContainerRequest(ask.request)
            ending = [self._held.pop(each) for each in containers if each in self._held]
            self._exits = [each for each in self._exits if each.container not in containers]
        for each in ending:
            self._say_goodbye(each)
        left = self._wait(ending, self._patience)
        for each in left:
            self._stop(each)
        for each in self._wait(left, _FORCE_SECONDS):
            log.warning("container %s on %s does not end", each.id.toString(), each.node.toString())
        self._turn.set()

    def end_all(self) -> None:
        """End running containers, and withdraw the requests for others."""
        with self._lock:
            everyone = {*self._asked, *self._held}
        self.end(everyone)

    def exits(self) -> list[ContainerExit]:
        """Containers that ended by themselves since the last call."""
        with self._lock:
            if self._failure:
                raise HeronError(self._failure)
            exits, self._exits = self._exits, []
            return exits

    def late(self) -> list[int]:
        """Containers that were requested long ago and are not allocated."""
        due = time.monotonic() - _LONG
        with self._lock:
            return [container for container, ask in self._asked.items() if ask.since < due]

    def refuse_without_room(self, launches: Collection[Launch]) -> None:
        """Raise if the queue has less memory left than these need."""
        needed = sum(wanted(launch.resources)[0] for launch in launches)
        with self._lock:
            free = int(self._room.getMemorySize())
        if needed > free:
            msg = f"YARN's queue has {free} MB left, and the new containers need {needed} MB"
            raise UserError(msg, hint="retry later, or give each component less")

    def finish(self) -> None:
        """Unregister the application as succeeded."""
        self._rest()
        status = self._java.records.FinalApplicationStatus.SUCCEEDED
        self._manager.unregisterApplicationMaster(status, "killed by its owner", "")

    def close(self) -> None:
        """Disconnect; containers run on."""
        self._rest()
        self._java.close()
        self._thread.join()

    def _started(self, service: Any) -> Any:
        service.init(self._conf)
        service.start()
        return service

    def _register(self) -> None:
        answer = self._manager.registerApplicationMaster(socket.gethostname(), 0, "")
        self._largest = answer.getMaximumResourceCapability()
        self._room = self._largest
        for container in answer.getContainersFromPreviousAttempts():
            self._keep(container)

    def _keep(self, container: Any) -> None:
        """Adopt a container of an earlier ApplicationMaster, unless its number is taken."""
        where, found = _number(container), _Held(container.getId(), container.getNodeId())
        held = self._held.get(where)
        if held is not None and held.id.equals(found.id):
            return  # a restarted ResourceManager reports containers that are known already
        if held is not None or self._look(found) == "gone":
            self._manager.releaseAssignedContainer(found.id)
            return
        if (ask := self._asked.pop(where, None)) is not None:
            self._manager.removeContainerRequest(ask.request)
        log.info("container %d is still %s on %s", where, found.id.toString(), found.node.toString())
        self._held[where] = found

    def _refuse_too_large(self, container: int, resources: Resources) -> None:
        memory, cores = wanted(resources)
        most = int(self._largest.getMemorySize()), int(self._largest.getVirtualCores())
        if memory > most[0] or cores > most[1]:
            msg = (
                f"container {container} needs {memory} MB and {cores} cores, and the largest that YARN gives"
                f" has {most[0]} MB and {most[1]} cores"
            )
            raise UserError(msg, hint="give each component less")

    def _request(self, container: int, resources: Resources) -> Any:
        builder = self._java.yarn.client.api.AMRMClient.ContainerRequest.newBuilder()
        # 0 would be none
        number = container + 1
        return (
            builder.capability(size(self._java, resources))
            .priority(self._java.records.Priority.newInstance(number))
            .allocationRequestId(number)
            .build()
        )

    def _beat(self) -> None:
        while not self._closing:
            try:
                answer = self._manager.allocate(0.0)
                with self._lock:
                    self._hear(answer)
                    pause = _SOON if self._asked else _LATER
            except Exception as error:
                if self._closing or self._fatal(error):
                    return
                log.warning("a heartbeat to YARN failed: %s", said(error))
                pause = _LATER
            self._turn.wait(pause)
            self._turn.clear()

    def _fatal(self, error: Exception) -> bool:
        """Whether no further heartbeat can succeed; reports that."""
        # not thrown in Java: the JVM is gone
        if kind(error) and kind(error) not in _REPLACED:
            return False
        with self._lock:
            self._failure = f"this ApplicationMaster cannot go on: {said(error)}"
        self._on_news()
        return True

    def _hear(self, answer: Any) -> None:
        self._room = answer.getAvailableResources() or self._room
        # a ResourceManager that was restarted learns of them from the nodes, one after the other
        for container in answer.getContainersFromPreviousAttempts():
            self._keep(container)
        for container in answer.getAllocatedContainers():
            self._take(container)
        for status in answer.getCompletedContainersStatuses():
            self._lose(status)
        if self._exits:
            self._on_news()

    def _take(self, container: Any) -> None:
        where, held = _number(container), _Held(container.getId(), container.getNodeId())
        ask = self._asked.pop(where, None)
        if ask is None:
            # no longer wanted
            self._manager.releaseAssignedContainer(held.id)
            return
        self._manager.removeContainerRequest(ask.request)
        try:
            self._nodes.startContainer(container, self._contexts.of_container(ask.launch))
        except Exception as error:
            if not kind(error) and not isinstance(error, UserError):
                raise
            self._manager.releaseAssignedContainer(held.id)
            reason = f"{held.node.toString()} does not start it: {said(error)}"
            self._exits.append(ContainerExit(where, None, reason))
            return
        log.info("container %d is %s on %s", where, held.id.toString(), held.node.toString())
        self._held[where] = held

    def _lose(self, status: Any) -> None:
        for where, held in self._held.items():
            if held.id.equals(status.getContainerId()):
                how, reason = exit_of(int(status.getExitStatus()), str(status.getDiagnostics() or ""))
                del self._held[where]
                self._exits.append(ContainerExit(where, how, reason))
                return

    def _say_goodbye(self, held: _Held) -> None:
        """SIGTERM, by way of the ResourceManager: the node's own way of ending gives no time."""
        command = self._java.records.SignalContainerCommand.GRACEFUL_SHUTDOWN
        try:
            self._client.signalToContainer(held.id, command)
        except Exception as error:
            log.warning("container %s cannot be asked to end: %s", held.id.toString(), said(error))

    def _stop(self, held: _Held) -> None:
        """SIGKILL, soon."""
        try:
            self._nodes.stopContainer(held.id, held.node)
        except Exception as error:
            log.warning("node %s does not end a container: %s", held.node.toString(), said(error))

    def _wait(self, ending: Collection[_Held], timeout: float) -> list[_Held]:
        """Wait until their nodes report these as gone; returns those that are not."""
        deadline = time.monotonic() + timeout
        left = [each for each in ending if self._runs(each)]
        while left and time.monotonic() < deadline:
            time.sleep(_LOOK)
            left = [each for each in left if self._runs(each)]
        return left

    def _runs(self, held: _Held) -> bool:
        """Whether its node reports it as running. One whose node does not answer is left to YARN."""
        seen = self._look(held)
        if seen == "unreachable":
            log.warning("container %s is out of reach on %s", held.id.toString(), held.node.toString())
            self._manager.releaseAssignedContainer(held.id)
        return seen == "runs"

    def _look(self, held: _Held) -> Literal["runs", "gone", "unreachable"]:
        try:
            status = self._nodes.getContainerStatus(held.id, held.node)
        except Exception as error:
            return "gone" if kind(error) in _UNKNOWN else "unreachable"
        return "gone" if str(status.getState().toString()) == "COMPLETE" else "runs"

    def _rest(self) -> None:
        """Stop the heartbeats. One that hangs in a call ends with the JVM."""
        self._closing = True
        self._turn.set()
        self._thread.join(_LATER)


def _number(container: Any) -> int:
    return int(container.getAllocationRequestId()) - 1
