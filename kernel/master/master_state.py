"""What the parts of a Topology Master share: the plan in force, which tasks run, the nodes it writes."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from heronpy.kernel.checkpoints.demand import being_taken
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.object_names import own_prefix
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, NodeExists, NodeMissing, VersionConflict
from heronpy.kernel.formats import NODE
from heronpy.kernel.master.damaged_nodes.decide import plan_in_force, update_that_ran
from heronpy.kernel.master.fenced_node import Changed, FencedNode
from heronpy.kernel.master.knowledge.roster import Roster
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan, physical_plan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.trace_points import step
from heronpy.kernel.tree.mending import Mender, mend
from heronpy.kernel.tree.paths import Execution, Live, Tree
from heronpy.kernel.tree.registrations import needed, read, read_version
from heronpy.kernel.tree.update import CLOSED, Update

log = logging.getLogger(__name__)

TAKEN_OVER = "the topology master was started again"


class MasterState:
    """Reads and writes; what to do is decided elsewhere."""

    def __init__(self, state: StateManager, tree: Tree, incarnation: int, config: Config) -> None:
        self.state = state
        self.tree = tree
        self.incarnation = incarnation
        self.config = config
        self.roster = Roster()
        self.execution = needed(state, tree.execution, Execution)
        self.mender = Mender(state)
        self.checkpoints = FencedNode(state, tree.checkpoints, Checkpoints, incarnation, self.mender.tell)
        #: the damage of the node `checkpoints`, if a predecessor left it damaged: its value is not known
        self.unreadable: DamagedNode | None = None
        self.update = FencedNode(state, tree.update, Update, incarnation, self.mender.tell)
        self._packing: PackingPlan | None = None
        self._live: Live | None = None
        self.plan, self._plan_version = self._written_plan()
        self._hold()
        #: the plan that the running update leads to, once it is written
        self.coming: PhysicalPlan | None = None
        #: tuples that are known to be lost
        self.lost: Callable[[], int] = int
        self._store: CheckpointStore | None = None

    @property
    def prefix(self) -> str:
        """Of this topology's objects in the checkpoint store."""
        return own_prefix(self.plan.topology, self.execution.id)

    @property
    def node(self) -> Checkpoints:
        return self.checkpoints.value or Checkpoints(number=0)

    @property
    def has_runs(self) -> bool:
        return self.plan.logical.reliability == "effectively_once"

    @property
    def updating(self) -> Update | None:
        """The update that runs or is proposed."""
        update = self.update.value
        return update if update is not None and update.phase not in CLOSED else None

    def store(self) -> CheckpointStore:
        """Opened when it is first needed: a broken store must not keep a topology from running.

        For work in the background only, which is one thread.
        """
        if self._store is None:
            self._store = open_checkpoint_store(self.config)
        return self._store

    def containers(self) -> list[int]:
        """The containers of the plan in force and of the next one."""
        coming = self.coming.containers() if self.coming is not None and self.updating else []
        return sorted({*self.plan.containers(), *coming})

    def replaced(self) -> dict[int, int]:
        """Task → its incarnation that has handed over to a successor, by the plan in force."""
        update = self.update.value
        if update is None or update.kind != "restart" or self.plan.epoch < update.epoch:
            return {}
        return {handover.task: handover.incarnation for handover in update.handovers}

    def take_over(self) -> None:
        """Begin as the only master: from now on writes of a predecessor are refused, or harmless.

        A checkpoint that it had begun is given up: it is not known which tasks have stored their part.
        DamagedNode if it is not known which plan comes next; then this may be tried again.
        """
        self.take_over_checkpoints()
        try:
            update = self.reread_update()
        except DamagedNode as damage:
            update = self._rebuild_update(damage)
        if update is not None:
            self._take_over_update()

    def take_over_checkpoints(self) -> None:
        """Write the node as this master, or note that it cannot be read."""
        try:
            while not self._take_over_checkpoints():
                continue
            self.unreadable = None
        except DamagedNode as damage:
            log.error("%s", damage)
            self.unreadable = damage

    def _take_over_checkpoints(self) -> bool:
        node = self.checkpoints.read() or Checkpoints(number=0)
        begun = being_taken(node)
        if begun:
            node = msgspec.structs.replace(node, aborted=begun, aborted_because=TAKEN_OVER)
        step("checkpoint.taking_over")
        try:
            self.checkpoints.write(node)
        except Changed:
            return False  # a predecessor has written once more: read and write again
        step("checkpoint.taken_over")
        if begun:
            log.warning("checkpoint %d was given up: %s", begun, TAKEN_OVER)
        return True

    def _take_over_update(self) -> None:
        # First the plan is written as it is: a predecessor that was about to commit has read an earlier
        # version, and cannot put the next plan in force after this one has rolled back.
        self._write_plan()

    def _write_plan(self) -> None:
        try:
            self._plan_version = self.state.set(
                self.tree.physical_plan, self.plan.to_json(), version=self._plan_version
            )
        except VersionConflict:
            # … and if it has just done so, the update goes forward
            self.reread_plan()
            self._write_plan()

    def _rebuild_update(self, damage: DamagedNode) -> Update | None:
        """DamagedNode if what it led to is not known."""
        log.error("%s", damage)
        number = self.written_version()
        coming = read(self.state, self.tree.next_plan, PhysicalPlan)
        update = update_that_ran(damage, self.plan, coming, self.packing(), number=number)
        self.update.rebuild(damage, update)
        self.mender.tell(damage)
        return self.reread_update()

    def written_version(self) -> int:
        """Of a write that has just been made: above every number that was ever counted by writes."""
        self._write_plan()
        return self._plan_version

    def mend(self) -> None:
        """Write again what is damaged of the nodes whose value is known here."""
        self.mender.look()
        if self.unreadable is None:
            self.checkpoints.read()
        self.reread_update()
        try:
            read(self.state, self.tree.physical_plan, PhysicalPlan)
        except DamagedNode as damage:
            self._plan_version = mend(self.state, damage, self.plan.to_json())
            self.mender.tell(damage)

    def _hold(self) -> None:
        """The nodes that only a master changes, and those that never change."""
        tree, hold = self.tree, self.mender.hold
        execution = NODE.encode(self.execution)
        hold(tree.execution, Execution, lambda: execution)
        try:
            definition = read(self.state, tree.definition, LogicalPlan)
        except DamagedNode:
            definition = None
        # but for the parallelism, which is the plan's affair from then on, they are the same
        logical = (definition or self.plan.logical).to_json()
        hold(tree.definition, LogicalPlan, lambda: logical)
        try:
            self.packing()
        except DamagedNode as damage:
            log.error("%s", damage)
        hold(tree.packing_plan, PackingPlan, lambda: self._packing.to_json() if self._packing else b"")
        hold(tree.live, Live, lambda: NODE.encode(self._live) if self._live else b"")
        hold(tree.next_plan, PhysicalPlan, lambda: (self.coming or self.plan).to_json())

    def live(self) -> Live | None:
        """What the spouts should be doing; as last read while that is damaged."""
        try:
            self._live = read(self.state, self.tree.live, Live)
        except DamagedNode as damage:
            log.warning("%s", damage)
        return self._live

    def reread_update(self) -> Update | None:
        """Read the node again: a command may have proposed an update."""
        self.update.read()
        update = self.updating
        coming = read(self.state, self.tree.next_plan, PhysicalPlan) if update is not None else None
        fits = coming is not None and update is not None and coming.epoch == update.epoch
        self.coming = coming if fits else None
        return update

    def reread_plan(self) -> None:
        self.plan, self._plan_version = self._written_plan()

    def write_coming(self, plan: PhysicalPlan) -> None:
        """Write the next plan, before the update refers to it."""
        try:
            version = self.state.get(self.tree.next_plan).version
            self.state.set(self.tree.next_plan, plan.to_json(), version=version)
        except NodeMissing:
            self.state.create(self.tree.next_plan, plan.to_json())
        except DamagedNode as damage:
            mend(self.state, damage, plan.to_json())
        self.coming = plan

    def commit(self, plan: PhysicalPlan) -> None:
        """Put the plan in force, in place of the one we know; Changed if that is not in force."""
        try:
            data = plan.to_json()
            version = self.state.set(self.tree.physical_plan, data, version=self._plan_version)
        except (VersionConflict, NodeMissing) as error:
            self.reread_plan()
            # a later master writes the plan when it begins
            self.checkpoints.read()
            msg = "another plan was put in force"
            raise Changed(msg) from error
        self.plan, self._plan_version = plan, version

    def packing(self) -> PackingPlan:
        self._packing = needed(self.state, self.tree.packing_plan, PackingPlan)
        return self._packing

    def write_packing(self, packing: PackingPlan) -> None:
        node = self.state.get(self.tree.packing_plan)
        self.state.set(self.tree.packing_plan, packing.to_json(), version=node.version)
        self._packing = packing

    def _written_plan(self) -> tuple[PhysicalPlan, int]:
        """The plan that is in force, or the first one of this topology."""
        try:
            found = read_version(self.state, self.tree.physical_plan, PhysicalPlan)
        except DamagedNode as damage:
            return self._rebuilt_plan(damage)
        if found is not None:
            return found
        logical = needed(self.state, self.tree.definition, LogicalPlan)
        plan = physical_plan(logical, self.packing())
        try:
            return plan, self.state.create(self.tree.physical_plan, plan.to_json())
        except NodeExists:
            # a predecessor that was stopped while it began has woken
            return self._written_plan()

    def _rebuilt_plan(self, damage: DamagedNode) -> tuple[PhysicalPlan, int]:
        """DamagedNode if which plan is in force is not known for certain."""
        update = read(self.state, self.tree.update, Update)
        coming = read(self.state, self.tree.next_plan, PhysicalPlan)
        definition = needed(self.state, self.tree.definition, LogicalPlan)
        plan = plan_in_force(damage, definition, self.packing(), update, coming)
        version = mend(self.state, damage, plan.to_json())
        self.mender.tell(damage)
        return plan, version
