"""Packs what containers on other machines need, and describes it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from heronpy.container.remote.parcel import bootstrap
from heronpy.container.remote.parcel.archive import write_archive
from heronpy.container.remote.parcel.code import code_files
from heronpy.container.remote.parcel.distributions import files_of, walk, with_requirements
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine import private
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Registry

#: what the files are called in the folder where a container starts
PACKAGE, LAUNCH = "heronpy.pyz", "launch.json"

#: the engine itself
ENGINE = "heron-py"


class Parcel(msgspec.Struct, frozen=True):
    """The launch file as it travels; `bootstrap` makes that of a machine from it."""

    launch: TopologyLaunch
    #: of the package
    sha256: str
    #: what the package was made for
    python: str
    platform: str
    #: setting that names a file → name of that file beside this one
    secrets: dict[str, str]

    @classmethod
    def of(cls, launch: TopologyLaunch, sha256: str, secrets: Iterable[str]) -> Parcel:
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return cls(launch, sha256, python, sysconfig.get_platform(), {each: each for each in secrets})


def requirements_of(config: Config, registry: Registry) -> list[str]:
    """The engine and the distributions of every plugin that the settings name."""
    chosen = [
        ("scheduler", config.text("scheduler.name")),
        ("state", config.text("state.manager")),
        ("checkpoint store", config.text("checkpoint.store")),
        *(("metric sink", name) for name in config.words("metrics.sinks")),
    ]
    needed = {ENGINE}
    for kind, name in chosen:
        provided = registry.provided(kind, name)
        needed.update(provided.value.distributions)
        if provided.distribution:
            needed.add(provided.distribution)
    return sorted(needed)


def secret_settings(config: Config, registry: Registry) -> list[str]:
    """Settings of the plugins in use that name a file with a secret, if they do."""
    state = registry.state_manager(config.text("state.manager"))
    return [setting for setting in state.secrets if config.text(setting)]


def build_package(path: Path, config: Config, registry: Registry, source: Source) -> None:
    """Write the package of one topology to `path`."""
    with tempfile.TemporaryDirectory(prefix="heronpy-requirements-") as folder:
        files = dict(wanted_by_user(config, Path(folder)))
        for distribution in with_requirements(requirements_of(config, registry)):
            files.update((f"site/{name}", file) for name, file in files_of(distribution))
        files.update(code_files(source, config.integer("upload.limit")))
        secrets = {Path(config.text(each)).resolve() for each in secret_settings(config, registry)}
        harmless = [(name, file) for name, file in files.items() if file.resolve() not in secrets]
        write_archive(path, _first_modules(), harmless)


def _first_modules() -> dict[str, str]:
    """What a bare Python runs from the package before it is unpacked."""
    return {
        "__main__.py": Path(bootstrap.__file__).read_text(encoding="utf-8"),
        "heronpy/__init__.py": "",
        "heronpy/kernel/__init__.py": "",
        "heronpy/kernel/machine/__init__.py": "",
        "heronpy/kernel/machine/private.py": Path(private.__file__).read_text(encoding="utf-8"),
    }


def wanted_by_user(config: Config, folder: Path) -> Iterator[tuple[str, Path]]:
    """What `upload.requirements` asks for, installed into a folder of its own."""
    file = config.text("upload.requirements")
    if not file:
        return
    if not Path(file).expanduser().is_file():
        msg = f"upload.requirements names {file!r}, and there is no such file"
        raise UserError(msg, hint="name a file that `pip install -r` accepts")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]
    done = subprocess.run(
        [*command, str(folder), "-r", str(Path(file).expanduser())],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        msg = f"the requirements in {file} cannot be installed: {last}"
        raise UserError(msg, hint=f"pip install -r {file}")
    yield from walk(folder, "site")
