"""Runs containers on YARN; the engine's scheduler process is the ApplicationMaster."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.machine.wakeup import Wakeup
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import ContainerExit, Launcher, Scheduler
from heronpy.kernel.plugin.opening import open_uploader
from heronpy.kernel.plugin.uploader import Uploader
from heronpy.plugins.scheduler.yarn import secrets
from heronpy.plugins.scheduler.yarn.cluster import Cluster, files_of
from heronpy.plugins.scheduler.yarn.contexts import Beside, Contexts, size
from heronpy.plugins.scheduler.yarn.hadoop import FILES
from heronpy.plugins.scheduler.yarn.master import CONF, FOLDER, JARS, SECRETS_URL, Master

#: YARN's own limit is lower
_ATTEMPTS_WITHOUT_END = 1_000_000


class YarnScheduler(Scheduler):
    """`--scheduler yarn`."""

    keeper: ClassVar[Literal["master", "beside", "framework"]] = "framework"
    distributions: ClassVar[tuple[str, ...]] = ("py4j",)

    @classmethod
    @override
    def remote(cls, config: Config) -> bool:
        return True

    @classmethod
    @override
    def preflight(cls, config: Config, plan: PackingPlan) -> None:
        with Cluster(config) as cluster:
            cluster.check(plan)

    @override
    def start_host(self, config: Config, launcher: Launcher) -> bool:
        tag = _tag(launcher)
        with Cluster(config) as cluster:
            if cluster.find(tag):
                # YARN starts it again by itself
                return True
            launch = launcher.host()
            with contextlib.closing(open_uploader(config)) as uploader:
                script = _upload(uploader, Path(secrets.__file__))
                jars = [Beside(f"{JARS}/{jar.name}", _upload(uploader, jar), True) for jar in cluster.jars]
                conf = [
                    Beside(f"{CONF}/{file.name}", _upload(uploader, file))
                    for file in files_of(cluster.folder, FILES)
                ]
            context = Contexts(cluster.java, cluster.conf, script).of_master(
                launch, [*jars, *conf], {FOLDER: "$PWD", SECRETS_URL: script, **cluster.identity()}
            )
            application = cluster.submit(
                f"heronpy {launcher.topology}",
                tag,
                context,
                size(cluster.java, launch.resources),
                config.integer("container.restart_attempts") or _ATTEMPTS_WITHOUT_END,
                config.number("container.restart_reset"),
            )
            cluster.wait_for_master(application, config.number("submit.timeout"))
        return True

    @override
    def initialize(self, config: Config, launcher: Launcher) -> None:
        self._config = config
        self._launcher = launcher
        self._wakeup = Wakeup()
        #: None where this process is not the ApplicationMaster: then it can only end the application
        self._master: Master | None = None
        if folder := os.environ.get(FOLDER):
            self._master = Master(Path(folder), config, self._wakeup.wake)
        self._over = False

    @override
    def on_schedule(self, plan: PackingPlan) -> None:
        self._start([0, *(container.id for container in plan.containers)])

    @override
    def on_kill(self) -> None:
        if self._master is None:
            with Cluster(self._config) as cluster:
                cluster.kill(_tag(self._launcher))
        elif not self._over:
            self._master.end_all()
            self._master.finish()
            self._over = True

    @override
    def on_restart(self, containers: Sequence[int]) -> None:
        self._its_master().end(containers)
        self._start(containers)

    @override
    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        come, go = current.changes(proposed)
        if come:
            self._its_master().refuse_without_room([self._launcher.container(each) for each in come])
            self._start(come)
        self._its_master().end(go)

    @override
    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        master = self._its_master()
        if not (exits := master.exits()):
            poll = select.poll()
            poll.register(self._wakeup, select.POLLIN)
            poll.poll(timeout * 1000)
            self._wakeup.drain()
            exits = master.exits()
        yield from exits

    @override
    def wake(self) -> None:
        self._wakeup.wake()

    @override
    def adopt(self, plan: PackingPlan) -> Iterable[int]:
        return self._master.held() if self._master is not None else ()

    @override
    def waiting(self) -> Mapping[int, str]:
        late = self._master.late() if self._master is not None else ()
        return dict.fromkeys(late, "YARN has not given a container for it yet")

    @override
    def links(self) -> Mapping[str, str]:
        return {"yarn": self._its_master().link}

    @override
    def close(self) -> None:
        if self._master is not None:
            self._master.close()
        self._wakeup.close()

    def _its_master(self) -> Master:
        assert self._master is not None, "only the ApplicationMaster can do that"
        return self._master

    def _start(self, containers: Iterable[int]) -> None:
        self._its_master().ask({each: self._launcher.container(each) for each in containers})


def _tag(launcher: Launcher) -> str:
    """By which the application is found again; YARN writes tags in small letters."""
    return f"heronpy-{launcher.execution}"


def _upload(uploader: Uploader, path: Path) -> str:
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return uploader.put(f"{checksum[:32]}-{path.name}", str(path))
