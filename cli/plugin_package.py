"""The package of a new plugin, made of the templates."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import NamedTuple

from heronpy.kernel.errors import UserError

#: a word that can be part of a module's and of a distribution's name
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


class _Kind(NamedTuple):
    #: what the registry calls it
    name: str
    interface: str
    hook: str
    #: how a user uses one
    usage: str
    tested: str = "the engine's contract for a {}"


KINDS = {
    "scheduler": _Kind("scheduler", "Scheduler", "heron_schedulers", "submit FILE --scheduler {}"),
    "state-manager": _Kind("state", "StateManager", "heron_state_managers", "submit FILE --state {}"),
    "uploader": _Kind("uploader", "Uploader", "heron_uploaders", "submit FILE --set upload.uploader={}"),
    "checkpoint-store": _Kind(
        "checkpoint store",
        "CheckpointStore",
        "heron_checkpoint_stores",
        "submit FILE --set checkpoint.store={}",
    ),
    "packing": _Kind("packing", "ResourceManager", "heron_resource_managers", "submit FILE --packing {}"),
    "metric-sink": _Kind(
        "metric sink", "MetricSink", "heron_metric_sinks", "submit FILE --set metrics.sinks={}"
    ),
    "command": _Kind("command", "Command", "heron_cli_commands", "{}", "a test"),
}


class PluginPackage:
    """Names and files of a plugin of one kind."""

    def __init__(self, kind: str, name: str) -> None:
        if not _NAME.fullmatch(name) or keyword.iskeyword(name):
            msg = (
                f"{name!r} cannot be the name of a plugin: use lower-case letters and digits, '-' in between"
            )
            raise UserError(msg)
        self._kind = kind
        self.name = name
        #: in words
        self.kind = kind.replace("-", " ")
        #: what the registry calls the kind
        self.registered_as = KINDS[kind].name
        self.distribution = f"heronpy-{name}-{kind}".replace("_", "-")
        self._package = self.distribution.replace("-", "_")
        self._module = kind.replace("-", "_")
        #: the file that its author fills in
        self.source = f"src/{self._package}/{self._module}.py"

    def write(self, folder: Path) -> None:
        """Make the folder; it is an error if there is one."""
        try:
            folder.mkdir(parents=True)
            for path, template in self._files().items():
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(Template(template).substitute(self._words()))
        except FileExistsError:
            msg = f"{folder} exists already"
            raise UserError(msg, hint="give the path of a new folder with --folder") from None
        except OSError as error:
            msg = f"cannot write {error.filename or folder}: {error.strerror}"
            raise UserError(msg, hint="choose another place with --folder") from error

    def _files(self) -> dict[str, str]:
        return {
            "pyproject.toml": _template("pyproject.toml"),
            "README.md": _template("README.md"),
            f"src/{self._package}/__init__.py": _template(
                "command-init.py" if self._kind == "command" else "init.py"
            ),
            self.source: _template(f"{self._kind}.py"),
            f"tests/test_{self._module}.py": _template(f"{self._kind}-test.py"),
        }

    def _words(self) -> dict[str, str]:
        chosen = KINDS[self._kind]
        return {
            "name": self.name,
            "kind": self.kind,
            "distribution": self.distribution,
            "package": self._package,
            "module": self._module,
            "interface": chosen.interface,
            "hook": chosen.hook,
            "usage": chosen.usage.format(self.name),
            "tested": chosen.tested.format(self.kind),
            "class_name": "".join(
                word.capitalize() for word in re.split("[-_]", f"{self.name}-{self._kind}")
            ),
        }


def _template(name: str) -> str:
    return resources.files("heronpy.cli").joinpath("templates", f"{name}.tmpl").read_text(encoding="utf-8")
