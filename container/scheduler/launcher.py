"""Describes the containers of one topology to the scheduler that runs them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import msgspec

from heronpy.container.remote.parcel import LAUNCH, PACKAGE
from heronpy.kernel.config import Config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import PackingPlan, Resources
from heronpy.kernel.plans.packing import MB
from heronpy.kernel.plugin import Launch, Launcher, Shipped

#: what the Topology Master's container is asked for
MASTER = Resources(cpu=1.0, ram=256 * MB, disk=256 * MB)

#: … and that of the scheduler's process, where it is in a container of its own
HOST = Resources(cpu=1.0, ram=512 * MB, disk=256 * MB)

#: what Python and the user's code need to be found again; nothing else is promised to a container
_PASSED_ON = ("PATH", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
#: … and what of it means the same on another machine
_SAME_EVERYWHERE = ("LANG", "LC_ALL", "TZ")


class TopologyLauncher(Launcher):
    """Follows `plan`, which the owner replaces when the topology changes."""

    def __init__(
        self, launch_file: str, launch: TopologyLaunch, plan: PackingPlan, shipped: Iterable[Shipped] = ()
    ) -> None:
        self.topology = launch.topology
        self.execution = launch.execution
        self.plan = plan
        self._launch_file = launch_file
        self._launch = launch
        self._config = Config.from_plain(launch.config)
        self._shipped = tuple(self._seen_from_here(each) for each in shipped)

    def container(self, container_id: int) -> Launch:
        resources = MASTER if container_id == 0 else self.plan.container(container_id).resources
        if self._launch.remote:
            return self._remote(("container", LAUNCH, str(container_id)), container_id, resources)
        module = (sys.executable, "-P", "-m", "heronpy.container.executor.main")
        return Launch(
            container=container_id,
            argv=(*module, self._launch_file, str(container_id)),
            environment={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            files=(self._launch_file,),
            resources=resources,
            log_folder=str(self._launch.logs),
        )

    def host(self) -> Launch:
        return self._remote(("host", LAUNCH), -1, HOST)

    def _remote(self, words: tuple[str, ...], container: int, resources: Resources) -> Launch:
        return Launch(
            container=container,
            argv=(self._config.text("container.python"), PACKAGE, *words),
            environment={name: os.environ[name] for name in _SAME_EVERYWHERE if name in os.environ},
            files=(),
            resources=resources,
            log_folder=str(self._launch.logs),
            shipped=self._shipped,
        )

    def _seen_from_here(self, shipped: Shipped) -> Shipped:
        """A secret is called like the setting that names its file; other files may be elsewhere only."""
        path = self._config.text(shipped.name) if shipped.secret else shipped.path
        return msgspec.structs.replace(shipped, path=path if os.path.exists(path) else "")
