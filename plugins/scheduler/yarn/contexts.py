"""How YARN starts a container: files beside it, environment, command and credentials."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Resources
from heronpy.kernel.plans.packing import MB
from heronpy.kernel.plugin import Launch
from heronpy.plugins.scheduler.yarn.java import Java, said
from heronpy.plugins.scheduler.yarn.secrets import PREFIX

#: what a process keeps of the environment that YARN gives it
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
#: … and an ApplicationMaster besides: how it finds Java, and its identity at YARN
_KEPT_BY_MASTERS = ("JAVA_HOME", "HADOOP_TOKEN_FILE_LOCATION", "CONTAINER_ID")

#: the name under which the module of that name lies beside a container that has secrets
SECRETS = "heronpy-secrets.py"

_PYTHON = "python3"

#: YARN keeps what is written there, and reports its end when a container fails
_OUTPUT = "exec </dev/null >>'<LOG_DIR>/stdout' 2>>'<LOG_DIR>/stderr'; "


class Beside(msgspec.Struct, frozen=True):
    """A file that lies beside a container when it starts."""

    name: str
    url: str
    #: whether a node may keep it for later applications
    kept: bool = False


class Contexts:
    """Makes ContainerLaunchContexts. `secrets` is where the module of that name was uploaded to."""

    def __init__(self, java: Java, conf: Any, secrets: str) -> None:
        self._java = java
        self._conf = conf
        self._secrets = secrets

    def of_container(self, launch: Launch) -> Any:
        return self._context(launch, (), {}, _KEPT)

    def of_master(self, launch: Launch, beside: Iterable[Beside], environment: Mapping[str, str]) -> Any:
        """Of the scheduler's process itself; `environment` may refer to variables of the node."""
        return self._context(launch, beside, environment, _KEPT + _KEPT_BY_MASTERS)

    def _context(
        self, launch: Launch, beside: Iterable[Beside], environment: Mapping[str, str], kept: Iterable[str]
    ) -> Any:
        files = [*beside, *(Beside(each.name, each.url) for each in launch.shipped if not each.secret)]
        secrets = {each.name: each.path for each in launch.shipped if each.secret}
        if secrets:
            files.append(Beside(SECRETS, self._secrets))
        command = command_line(launch, [*kept, *environment], unpack=bool(secrets))
        resources = {each.name: self._resource(each) for each in files}
        return self._java.records.ContainerLaunchContext.newInstance(
            resources, dict(environment), [command], {}, self._credentials(secrets), {}
        )

    def _resource(self, file: Beside) -> Any:
        """A node fetches it by itself, and only if it has not changed since now."""
        records = self._java.records
        path = self._java.hadoop.fs.Path(file.url)
        try:
            status = path.getFileSystem(self._conf).getFileStatus(path)
        except Exception as error:
            msg = f"YARN's nodes could not fetch {file.url}: {said(error)}"
            raise UserError(msg, hint="set an upload.path that Hadoop reads, such as hdfs://…") from error
        kinds = records.LocalResourceVisibility
        return records.LocalResource.newInstance(
            records.URL.fromPath(status.getPath()),
            records.LocalResourceType.FILE,
            kinds.PRIVATE if file.kept else kinds.APPLICATION,
            status.getLen(),
            status.getModificationTime(),
        )

    def _credentials(self, secrets: Mapping[str, str]) -> Any:
        made = self._java.hadoop.security.Credentials()
        for name, path in secrets.items():
            made.addSecretKey(self._java.hadoop.io.Text(PREFIX + name), Path(path).read_bytes())
        buffer = self._java.hadoop.io.DataOutputBuffer()
        made.writeTokenStorageToStream(buffer)
        return self._java.jvm.java.nio.ByteBuffer.wrap(buffer.getData(), 0, buffer.getLength())


def command_line(launch: Launch, kept: Iterable[str], *, unpack: bool) -> str:
    """For the shell that YARN starts; its process becomes the container's first."""
    python = launch.argv[0] or _PYTHON
    words = [*(f"{name}={value}" for name, value in launch.environment.items()), python, *launch.argv[1:]]
    passed = " ".join(f'${{{name}+"{name}=${name}"}}' for name in kept)
    before = f"{shlex.quote(python)} -I {SECRETS} && " if unpack else ""
    line = f"{before}exec env -i {passed} {shlex.join(words)}"
    # YARN puts it between double quotes
    return _OUTPUT + re.sub(r'([\\"$`])', r"\\\1", line)


def size(java: Java, resources: Resources) -> Any:
    """As YARN counts: whole megabytes and whole cores, at least one of each."""
    memory, cores = wanted(resources)
    return java.records.Resource.newInstance(memory, cores)


def wanted(resources: Resources) -> tuple[int, int]:
    return max(1, math.ceil(resources.ram / MB)), max(1, math.ceil(resources.cpu))
