"""What containers on other machines need is uploaded at submit, and removed when it is no longer needed."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from heronpy.container.execution import known_execution
from heronpy.container.remote.parcel import LAUNCH, PACKAGE, Parcel, build_package, secret_settings
from heronpy.container.remote.parcel.archive import sha256_of
from heronpy.container.remote.shipped import read_shipped
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, HeronError, OtherFormat
from heronpy.kernel.formats import LAUNCH as LAUNCH_FORMAT
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Registry, Shipped, StateManager, Uploader
from heronpy.kernel.plugin.opening import open_uploader

log = logging.getLogger(__name__)


def upload(launch: TopologyLaunch, registry: Registry, source: Source) -> tuple[Shipped, ...]:
    """Pack and upload; returns what containers must be given."""
    config = Config.from_plain(launch.config)
    secrets = secret_settings(config, registry)
    uploader = open_uploader(config, registry)
    try:
        with tempfile.TemporaryDirectory(prefix="heronpy-package-") as folder:
            package, parcel = Path(folder) / PACKAGE, Path(folder) / LAUNCH
            build_package(package, config, registry, source)
            shipped = _put(uploader, package, PACKAGE, launch.execution)
            travelling = msgspec.structs.replace(launch, work="")
            parcel.write_bytes(LAUNCH_FORMAT.encode(Parcel.of(travelling, shipped.sha256, secrets)))
            own = (shipped, _put(uploader, parcel, LAUNCH, launch.execution))
            return (*own, *(_secret(config, each) for each in secrets))
    finally:
        uploader.close()


def uploads_of(state: StateManager, topology: str) -> set[str]:
    """Objects that this topology has uploaded."""
    execution = known_execution(state, topology)
    if execution is None:
        return set()
    try:
        shipped = read_shipped(state, topology)
    except (DamagedNode, OtherFormat) as error:
        log.warning("uploaded files are not removed: %s", error)
        return set()
    return {_object(each.name, each.sha256, execution.id) for each in shipped if not each.secret}


def clear_uploads(config: Config, names: set[str]) -> None:
    """Remove uploads that are no longer needed. A failure must not keep the topology from being killed."""
    if not names:
        return
    try:
        uploader = open_uploader(config)
        try:
            for name in sorted(names):
                uploader.delete(name)
        finally:
            uploader.close()
    except HeronError as error:
        log.warning("uploaded files are not removed: %s", error)


def _put(uploader: Uploader, path: Path, name: str, execution: str) -> Shipped:
    checksum = sha256_of(path)
    url = uploader.put(_object(name, checksum, execution), str(path))
    here = unquote(urlsplit(url).path) if url.startswith("file:///") else ""
    return Shipped(name, url, here, checksum, path.stat().st_size)


def _object(name: str, checksum: str, execution: str) -> str:
    """Name of the object: by content, and by owner, because the remover knows only its own uploads."""
    return f"{checksum}-{execution}{Path(name).suffix}"


def _secret(config: Config, setting: str) -> Shipped:
    path = Path(config.text(setting))
    return Shipped(setting, "", str(path), sha256_of(path), path.stat().st_size, secret=True)
