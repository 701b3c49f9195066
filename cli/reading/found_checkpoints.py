"""The checkpoints of a topology, running or not: finding them, reading them, and how they look."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from heronpy.cli.views.output import elapsed, plural, size
from heronpy.container.execution import known_execution
from heronpy.container.folders import launch_file
from heronpy.kernel.checkpoints.lookup import Found, find_checkpoints
from heronpy.kernel.checkpoints.manifest import Manifest, read_manifest, read_part
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.config import Config
from heronpy.kernel.errors import CheckpointDamaged, UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.names import checked_name
from heronpy.kernel.plugin import CheckpointStore, Registry, StateManager
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import reported

HEADERS = ("id", "age", "took", "size", "tasks", "epoch", "parallelism", "topology", "execution")


class FoundCheckpoints(NamedTuple):
    """All checkpoints of a name."""

    name: str
    node: Checkpoints | None
    #: newest first
    found: list[Found]


def require_common_store(state: StateManager, name: str) -> None:
    """A checkpoint is whole only where all machines see it."""
    execution = known_execution(state, name)
    if execution is not None and execution.apart:
        msg = f"the machines of {name!r} have no checkpoint store in common"
        raise UserError(msg, hint="submit with --set checkpoint.path=… for a place that all of them see")


def split_label(label: str) -> tuple[str, str]:
    """NAME or NAME@ID as a name and what stands behind the @."""
    name, _, wanted = label.partition("@")
    return checked_name("topology", name), wanted


@contextlib.contextmanager
def open_store(config: Config, name: str, registry: Registry | None = None) -> Iterator[CheckpointStore]:
    """The store that a topology was submitted with; if it is gone, the one that the settings name."""
    file = launch_file(config, name)
    chosen = Config.from_plain(TopologyLaunch.read(file).config) if file.exists() else config
    store = open_checkpoint_store(chosen, registry)
    try:
        yield store
    finally:
        store.close()


def saved_of(state: StateManager, store: CheckpointStore, name: str) -> FoundCheckpoints:
    execution = known_execution(state, name)
    node = reported(state, Tree(name).checkpoints, Checkpoints)
    return FoundCheckpoints(
        name, node, find_checkpoints(store, name, execution.id if execution else "", node)
    )


def manifest_of(store: CheckpointStore, one: Found) -> Manifest | None:
    """None when it is damaged, or was deleted in the meantime."""
    try:
        return read_manifest(store, one.ref)
    except CheckpointDamaged:
        return None


def total_bytes(store: CheckpointStore, found: list[Found]) -> int:
    """Of all objects together: checkpoints share those that did not change."""
    parts: dict[str, StoredPart] = {}
    for one in found:
        manifest = manifest_of(store, one)
        parts.update(manifest.parts() if manifest else {})
    return sum(part.bytes for part in parts.values())


def verify(store: CheckpointStore, manifest: Manifest, seen: set[str]) -> None:
    """Read every object that was not read before, and compare it with its checksum: CheckpointDamaged."""
    for name, part in manifest.parts().items():
        if name not in seen:
            read_part(store, part)
            seen.add(name)


def row(one: Found, manifest: Manifest | None, now: float) -> tuple[str, ...]:
    known = ("?", "?", "damaged")
    if manifest is not None:
        counts = ", ".join(f"{name} {count}" for name, count in manifest.parallelism().items())
        known = (str(len(manifest.tasks)), str(manifest.epoch), counts)
    age, took = f"{elapsed(now - one.ref.at)} ago", f"{one.ref.seconds:.1f}s"
    return (str(one.ref.id), age, took, size(one.ref.bytes), *known, _life(one), one.execution)


def plain(one: Found, manifest: Manifest | None) -> dict[str, object]:
    return {
        "checkpoint": one.label,
        "id": one.ref.id,
        "at": one.ref.at,
        "seconds": one.ref.seconds,
        "bytes": one.ref.bytes,
        "tasks": len(manifest.tasks) if manifest else None,
        "epoch": manifest.epoch if manifest else None,
        "parallelism": manifest.parallelism() if manifest else None,
        "damaged": manifest is None,
        "topology": _life(one),
        "execution": one.execution,
    }


def counted(number: int, bytes_: int) -> str:
    """3 checkpoints (41.2 MB)."""
    return f"{plural(number, 'checkpoint')} ({size(bytes_)})"


def _life(one: Found) -> str:
    return "running" if one.running else "killed"
