"""Removes or keeps a topology's checkpoints when it is killed."""

from __future__ import annotations

import logging

from heronpy.kernel.checkpoints.collection import delete_checkpoints, delete_objects
from heronpy.kernel.checkpoints.manifest import read_manifest, ref_name, write_ref
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.object_names import own_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.config import Config
from heronpy.kernel.errors import CheckpointDamaged, DamagedNode, HeronError, OtherFormat, UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plugin import CheckpointStore, StateManager
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read, reported

log = logging.getLogger(__name__)


def clear_checkpoints(
    state: StateManager, launch: TopologyLaunch, *, keep: bool, keep_objects: bool = False
) -> None:
    """Remove all that this execution has in the checkpoint store, or all but its complete checkpoints.

    What its components keep there goes as well, unless checkpoints are kept or it is to stay.
    No process of the topology may be left: it could write more.
    """
    tree = Tree(launch.topology)
    if not launch.execution:
        log.warning("the checkpoints of %s are not known: none is removed", launch.topology)
        return
    node = _node(state, tree)
    if keep and node is None:
        return  # the objects there may belong to a checkpoint
    objects = not keep and not keep_objects and _keeps_objects(state, tree)
    if not objects and not _has_saved(state, tree, node):
        return
    try:
        _clear(Config.from_plain(launch.config), launch, node, keep=keep, objects=objects)
    except HeronError as error:
        if keep:
            log.warning("objects outside complete checkpoints were not removed: %s", error)
            return
        raise _left(launch, error) from error


def require_store(state: StateManager, launch: TopologyLaunch, *, keep: bool) -> None:
    """Refuse a kill that could not remove the checkpoints, while nothing has been ended yet."""
    tree = Tree(launch.topology)
    if keep or not launch.execution:
        return
    if not (_has_saved(state, tree, _node(state, tree)) or _keeps_objects(state, tree)):
        return
    try:
        open_checkpoint_store(Config.from_plain(launch.config)).close()
    except HeronError as error:
        raise _left(launch, error) from error


def _has_saved(state: StateManager, tree: Tree, node: Checkpoints | None) -> bool:
    """A topology that has never stored anything does not even need its store to be reachable."""
    return node is None or bool(node.started) or node.base is not None or state.exists(tree.update)


def _left(launch: TopologyLaunch, error: HeronError) -> UserError:
    msg = f"the checkpoints of {launch.topology!r} cannot be removed: {error}"
    return UserError(msg, hint=f"heronpy kill {launch.topology} --keep-checkpoints")


def _node(state: StateManager, tree: Tree) -> Checkpoints | None:
    return reported(state, tree.checkpoints, Checkpoints)


def _keeps_objects(state: StateManager, tree: Tree) -> bool:
    try:
        plan = read(state, tree.definition, LogicalPlan)
    except DamagedNode as damage:
        log.warning("%s; objects of its components are removed if there are any", damage)
        return True
    except OtherFormat:
        return False
    return plan is not None and any(component.keeps_objects for component in plan.components)


def _clear(
    config: Config, launch: TopologyLaunch, node: Checkpoints | None, *, keep: bool, objects: bool
) -> None:
    store = open_checkpoint_store(config)
    try:
        kept = _kept(store, node) if keep and node is not None else []
        delete_checkpoints(store, own_prefix(launch.topology, launch.execution), kept)
        if objects:
            delete_objects(store, launch.topology)
    finally:
        store.close()


def _kept(store: CheckpointStore, node: Checkpoints) -> list[CheckpointRef]:
    """The complete ones, each with a reference beside it by which it can be found without its node."""
    kept = []
    for ref in node.complete:
        try:
            read_manifest(store, ref)
        except OtherFormat as error:
            log.warning("checkpoint %d is kept unread: %s", ref.id, error)
        except CheckpointDamaged as error:
            log.warning("checkpoint %d is not kept: %s", ref.id, error)
            continue
        if not store.names(ref_name(ref)):
            write_ref(store, ref)
        kept.append(ref)
    return kept
