"""Runs containers on this machine at a lower priority and on chosen cores."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from heronpy import Config, ContainerExit, Launcher, PackingPlan, Scheduler
from heronpy_nice_scheduler.session import Session, saved, start

#: seconds between two looks at what runs
LOOK_EVERY = 0.05

#: an executor gives its children kill.timeout, and needs a moment itself
EXECUTOR_SECONDS = 2.0


class NiceScheduler(Scheduler):
    """`--scheduler nice`; settings `plugins.nice.level` (0 to 19) and `plugins.nice.cpus` ("0-1")."""

    def initialize(self, config: Config, launcher: Launcher) -> None:
        settings = config.plugin("nice")
        self._wrapper = ["nice", "-n", str(settings.get("level", 10))]
        if "cpus" in settings:
            self._wrapper += ["taskset", "-c", str(settings["cpus"])]
        self._launcher = launcher
        self._patience = config.number("kill.timeout") + EXECUTOR_SECONDS
        self._logs = Path(launcher.container(0).log_folder)
        self._folder = self._logs.parent / "nice"
        self._running: dict[int, Session] = {}

    def on_schedule(self, plan: PackingPlan) -> None:
        self._start([0, *(container.id for container in plan.containers)])

    def on_kill(self) -> None:
        self._end(list(saved(self._folder)))

    def on_restart(self, containers: Sequence[int]) -> None:
        # also those that ended by themselves: what they left must go before their successors come
        self._end([session for session in saved(self._folder) if session.container in containers])
        self._start(containers)

    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        come, go = current.changes(proposed)
        self._start(come)
        self._end([session for session in saved(self._folder) if session.container in go])

    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        deadline = time.monotonic() + timeout
        while not (ended := [one for one in self._running.values() if not one.leads()]):
            if time.monotonic() >= deadline:
                return
            time.sleep(LOOK_EVERY)
        for session in ended:
            del self._running[session.container]
            yield ContainerExit(session.container, session.status())

    def adopt(self, plan: PackingPlan) -> Iterable[int]:
        del plan
        self._running = {session.container: session for session in saved(self._folder) if session.leads()}
        return sorted(self._running)

    def links(self) -> Mapping[str, str]:
        return {"logs": str(self._logs)}

    def _start(self, containers: Iterable[int]) -> None:
        self._logs.mkdir(exist_ok=True)
        for container in containers:
            session = start(self._launcher.container(container), self._wrapper)
            session.save(self._folder)
            self._running[container] = session

    def _end(self, sessions: Sequence[Session]) -> None:
        for session in sessions:
            session.terminate()
        deadline = time.monotonic() + self._patience
        while any(session.leads() for session in sessions) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)
        for session in sessions:
            session.kill()
            session.status()
            session.forget(self._folder)
            self._running.pop(session.container, None)
