"""A scheduler for tests: containers start as on another machine, with a bare Python and what was shipped."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec
from typing_extensions import override

from heronpy import hookimpl
from heronpy.kernel.config import Config
from heronpy.kernel.plugin import Launch, Launcher, Scheduler
from heronpy.plugins.scheduler.local import LocalScheduler

#: nothing of this machine's environment but what any other would have, too
_THERE = 'cd "$1" && shift && exec env -i PATH=/usr/bin:/bin "TMPDIR=$0" "$@"'


@hookimpl
def heron_schedulers() -> Mapping[str, type[Scheduler]]:
    return {"elsewhere": ElsewhereScheduler}


class ElsewhereScheduler(LocalScheduler):
    """`--scheduler elsewhere`; of `plugins.elsewhere`, `folder` is the disk there, `python` the Python."""

    @classmethod
    @override
    def remote(cls, config: Config) -> bool:
        return True

    @override
    def initialize(self, config: Config, launcher: Launcher) -> None:
        settings = config.plugin("elsewhere")
        super().initialize(config, _Elsewhere(launcher, Path(settings["folder"]), settings["python"]))


class _Elsewhere(Launcher):
    def __init__(self, launcher: Launcher, disk: Path, python: str) -> None:
        self.topology = launcher.topology
        self._launcher = launcher
        self._disk = disk
        self._python = python

    @override
    def container(self, container_id: int) -> Launch:
        launch = self._launcher.container(container_id)
        folder, temporary = self._disk / str(container_id), self._disk / "tmp"
        for each in (folder, temporary):
            each.mkdir(parents=True, exist_ok=True)
        for shipped in launch.shipped:
            shutil.copy(shipped.path, folder / shipped.name)
        there = ("sh", "-c", _THERE, str(temporary), str(folder))
        return msgspec.structs.replace(launch, argv=(*there, self._python, *launch.argv[1:]))


def install(folder: Path) -> str:
    """Make the scheduler known to whoever has the returned PYTHONPATH, as an installed package is."""
    about = folder / "heronpy_elsewhere-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: heronpy-elsewhere\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[heronpy]\nelsewhere = support.schedulers.elsewhere\n")
    return f"{folder}:{Path(__file__).parent.parent.parent}"
