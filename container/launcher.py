"""Describes the containers of one topology to whatever scheduler runs them."""

from __future__ import annotations

import os
import sys

from heronpy.container.launch import TopologyLaunch
from heronpy.kernel.plans import PackingPlan, Resources
from heronpy.kernel.plans.packing import MB
from heronpy.kernel.plugin import Launch, Launcher

#: what the Topology Master's container is asked for
MASTER = Resources(cpu=1.0, ram=256 * MB, disk=256 * MB)

#: what Python and the user's code need to be found again; nothing else is promised to a container
_PASSED_ON = ("PATH", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")


class TopologyLauncher(Launcher):
    """Follows `plan`, which the owner replaces when the topology changes."""

    def __init__(self, launch_file: str, launch: TopologyLaunch, plan: PackingPlan) -> None:
        self.topology = launch.topology
        self.plan = plan
        self._launch_file = launch_file
        self._launch = launch

    def container(self, container_id: int) -> Launch:
        return Launch(
            container=container_id,
            argv=(
                sys.executable,
                "-P",
                "-m",
                "heronpy.container.executor",
                self._launch_file,
                str(container_id),
            ),
            environment={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            files=(self._launch_file,),
            resources=MASTER if container_id == 0 else self.plan.container(container_id).resources,
            log_folder=str(self._launch.logs),
        )
