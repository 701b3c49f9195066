"""Installed distributions and what they require: which files of this machine make them up."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackagePath
from pathlib import Path

from heronpy.kernel.errors import PluginError

#: the name at the beginning of a requirement such as `kazoo>=2.10; extra == "zookeeper"`
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")

#: files that only mean something where they were installed
_OF_THE_INSTALLATION = ("direct_url.json", "INSTALLER", "RECORD", "REQUESTED")


def with_requirements(names: Iterable[str]) -> list[Distribution]:
    """These distributions and all that they require, sorted by name."""
    found: dict[str, Distribution] = {}
    waiting = [_installed(name) for name in names]
    while waiting:
        distribution = waiting.pop()
        key = _canonical(distribution.metadata["Name"])
        if key not in found:
            found[key] = distribution
            waiting += _required_by(distribution)
    return [found[key] for key in sorted(found)]


def files_of(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Name below site-packages, and path here, of every file that counts."""
    about = Path(str(distribution.locate_file(""))) / _about_folder(distribution)
    for path in sorted(about.rglob("*")):
        if path.is_file() and path.name not in _OF_THE_INSTALLATION:
            yield f"{about.name}/{path.relative_to(about).as_posix()}", path
    listed = [
        (file.as_posix(), Path(str(distribution.locate_file(file)))) for file in _recorded(distribution)
    ]
    yield from listed if listed else _modules_of(distribution)


def _recorded(distribution: Distribution) -> Iterator[PackagePath]:
    """Modules and data that the installer put below site-packages; nothing where it left a link instead."""
    if distribution.read_text("RECORD") is None:
        return
    for file in distribution.files or ():
        top = file.parts[0]
        foreign = top in ("..", "/") or top.endswith(".dist-info") or "__editable__" in file.name
        if not foreign and file.suffix not in (".pth", ".pyc"):
            yield file


def walk(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Every file below a folder but what a compiler left; links are followed, each folder is seen once."""
    seen: set[str] = set()
    for top, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(top)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        inside = Path(top).relative_to(folder).as_posix()
        for file in sorted(files):
            if not file.endswith((".pyc", ".pyo")):
                yield os.path.normpath(f"{name}/{inside}/{file}"), Path(top) / file


def _find(name: str) -> Distribution | None:
    """As it is installed; a folder of sources that happens to be on the path only if it is not."""
    found = list(importlib.metadata.distributions(name=name))
    return next((each for each in found if each.read_text("RECORD") is not None), found[0] if found else None)


def _installed(name: str) -> Distribution:
    found = _find(name)
    if found is None:
        msg = f"containers need the distribution {name!r}, which is not installed here"
        raise PluginError(msg, hint=f"pip install {name}")
    return found


def _required_by(distribution: Distribution) -> Iterator[Distribution]:
    for requirement in distribution.requires or ():
        match = _NAME.match(requirement)
        if match is not None and not re.search(r"\bextra\s*==", requirement):
            found = _find(match[1])
            # one that is missing is for another platform; otherwise its import fails and says so
            if found is not None:
                yield found


def _modules_of(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Of a distribution that is installed as a link to its sources: what it provides, wherever that lies."""
    for name in sorted(_top_level(distribution)):
        spec = importlib.util.find_spec(name)
        if spec is None:
            continue
        if spec.submodule_search_locations:
            yield from walk(Path(spec.submodule_search_locations[0]), name)
        elif spec.origin:
            yield Path(spec.origin).name, Path(spec.origin)


def _top_level(distribution: Distribution) -> set[str]:
    listed = set((distribution.read_text("top_level.txt") or "").split())
    plugins = {point.value.split(":")[0].split(".")[0] for point in distribution.entry_points}
    return listed or plugins


def _about_folder(distribution: Distribution) -> str:
    for file in distribution.files or ():
        if file.name == "METADATA":
            return file.parent.as_posix()
    name = re.sub(r"[-_.]+", "_", distribution.metadata["Name"])
    return f"{name}-{distribution.version}.dist-info"


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
