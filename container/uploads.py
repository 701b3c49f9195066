"""What containers on other machines need is uploaded at submit, and removed when nobody needs it any more."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from heronpy.container.launch import TopologyLaunch
from heronpy.container.parcel import LAUNCH, PACKAGE, Parcel, build_package
from heronpy.container.parcel.archive import sha256_of
from heronpy.kernel.config import Config
from heronpy.kernel.errors import HeronError
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Registry, Shipped, StateManager, Uploader
from heronpy.kernel.plugin.opening import open_uploader
from heronpy.kernel.registrations import read
from heronpy.kernel.tree import Tree

log = logging.getLogger(__name__)


def upload(launch: TopologyLaunch, registry: Registry, source: Source) -> tuple[Shipped, ...]:
    """Pack, upload, and say what containers must be given."""
    config = Config.from_plain(launch.config)
    secrets = _secrets(config, registry)
    uploader = open_uploader(config, registry)
    try:
        with tempfile.TemporaryDirectory(prefix="heronpy-package-") as folder:
            package, parcel = Path(folder) / PACKAGE, Path(folder) / LAUNCH
            build_package(package, config, registry, source)
            shipped = _put(uploader, package, PACKAGE)
            travelling = msgspec.structs.replace(launch, work="", sockets="")
            parcel.write_bytes(msgspec.json.encode(Parcel.of(travelling, shipped.sha256, secrets)))
            return (shipped, _put(uploader, parcel, LAUNCH), *(_secret(config, each) for each in secrets))
    finally:
        uploader.close()


def uploads_of(state: StateManager, topology: str) -> set[str]:
    """Objects that this topology has uploaded, and no other one needs."""
    others = [name for name in state.children("/") if name != topology]
    return _uploaded(state, topology) - {name for other in others for name in _uploaded(state, other)}


def clear_uploads(config: Config, names: set[str]) -> None:
    """Remove what nobody needs any more. The topology must go whether or not its files can."""
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
        log.warning("what was uploaded is left: %s", error)


def _uploaded(state: StateManager, topology: str) -> set[str]:
    with contextlib.suppress(msgspec.DecodeError):
        shipped = read(state, Tree(topology).shipped, tuple[Shipped, ...]) or ()
        return {_object(each.name, each.sha256) for each in shipped if not each.secret}
    return set()


def _put(uploader: Uploader, path: Path, name: str) -> Shipped:
    checksum = sha256_of(path)
    url = uploader.put(_object(name, checksum), str(path))
    here = unquote(urlsplit(url).path) if url.startswith("file:///") else ""
    return Shipped(name, url, here, checksum, path.stat().st_size)


def _object(name: str, checksum: str) -> str:
    """What the uploader calls it: the same content has the same name, whoever uploads it."""
    return f"{checksum}{Path(name).suffix}"


def _secrets(config: Config, registry: Registry) -> list[str]:
    """Settings of the plugins in use that name a file with a secret, if they do."""
    state = registry.state_manager(config.text("state.manager"))
    return [setting for setting in state.secrets if config.text(setting)]


def _secret(config: Config, setting: str) -> Shipped:
    path = Path(config.text(setting)).expanduser()
    return Shipped(setting, "", str(path), sha256_of(path), path.stat().st_size, secret=True)
