"""Puts one task together: the user's component and everything it emits and receives through."""

from __future__ import annotations

import logging
import pickle
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, cast

import msgspec

from heronpy import global_metrics
from heronpy.bolt import BaseBolt, Bolt
from heronpy.component import make_component
from heronpy.config_values import merged_config
from heronpy.constants import TOPOLOGY_SERIALIZER_CLASSNAME
from heronpy.context import TopologyContext
from heronpy.instances.acking.anchored import Edges
from heronpy.instances.acking.awaiting import Awaiting
from heronpy.instances.acking.outgoing import OutgoingAcks
from heronpy.instances.acking.roots import Roots
from heronpy.instances.acking.tracker import Tracker
from heronpy.instances.control_events import Abandoned
from heronpy.instances.counters import Counters
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.input.inflow import Inflow
from heronpy.instances.input.input_time import InputTime
from heronpy.instances.link import FrameHandler, Link
from heronpy.instances.near_rows import FindNear, nobody_near
from heronpy.instances.output.codec import Codec, PlainCodec, SerializerCodec
from heronpy.instances.output.collector import Collector
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.instances.output.outbox import Outbox, Stopping
from heronpy.instances.poison.finding import Finding
from heronpy.instances.poison.guard import CAREFUL, Guard, PoisonSettings, Unguarded
from heronpy.instances.positions import Sent, WorkedOff
from heronpy.instances.saving.pending_rows import put_back
from heronpy.instances.saving.run_membership import has_runs
from heronpy.instances.saving.sink_transactions import ROLL, Transactions
from heronpy.instances.saving.snapshot import SavingSettings, Snapshots
from heronpy.instances.saving.state import Saver, TaskState
from heronpy.instances.saving.task_end import ENDED, TaskEnd
from heronpy.instances.task.bolt_task import BoltDelegate, BoltTask
from heronpy.instances.task.emit_lines import located
from heronpy.instances.task.event_report import EventReport
from heronpy.instances.task.frame_dispatch import FrameDispatch
from heronpy.instances.task.schedule import Schedule
from heronpy.instances.task.spout_task import SpoutDelegate, SpoutTask
from heronpy.instances.user_metrics import MetricSampler
from heronpy.kernel.errors import TupleTooLarge
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.plans import Input, PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.loading import describe_user_error, load_auto_hooks
from heronpy.logical_plan import drops_when_full, poison_settings, tick_seconds, tree_limits
from heronpy.spout import BaseSpout, Spout
from heronpy.state import HashMapState, KeepsNotes, give_state
from heronpy.transactions import TransactionalSink

#: how often the counters of heronpy.global_metrics are read, in seconds
GLOBAL_METRICS_BUCKET = 1.0

#: finds a class by its path, as the submitted file would see it
ClassFinder = Callable[[str], type]


class TaskWiring(NamedTuple):
    """What the loop of a task works with."""

    plan: PhysicalPlan
    context: TopologyContext
    sender: Sender
    settings: FlowSettings
    counters: Counters
    codec: Codec
    link: Link
    inflow: Inflow
    outbox: Outbox
    collector: Collector
    schedule: Schedule
    logger: logging.Logger
    clock: Callable[[], float]
    #: seconds since 1970, for processing time
    wall: Callable[[], float]
    input_time: InputTime
    #: of a spout whose trees are tracked
    tracker: Tracker | None
    #: of a bolt whose topology tracks trees
    acks: OutgoingAcks | None
    #: of a spout whose tuples are done with when a checkpoint is complete
    awaiting: Awaiting | None
    state: TaskState
    #: its mapping, made at the first call
    open_state: Callable[[], HashMapState]


class Task(NamedTuple):
    """A task that is ready to be initialized and run."""

    component: Spout | Bolt
    loop: SpoutTask | BoltTask
    parts: TaskWiring
    exchange: FrameDispatch
    end: TaskEnd
    event_time: EventReport
    #: of a transactional sink
    transactions: Transactions | None = None
    #: of a task that is saved
    saver: Saver | None = None
    saving: Snapshots | None = None

    @property
    def on_frame(self) -> FrameHandler:
        return self.exchange.on_frame

    def initialize(self) -> None:
        """Call the user's initialize(), which may emit; then announce the task to its emitters."""
        context = self.parts.context
        self.parts.outbox.greet()
        _shorten_emit(self.component)
        give_state(self.component, self.parts.open_state)
        self.component.initialize(context.get_cluster_config(), context)
        if self.transactions is not None:
            self.transactions.recover()
            if not self.transactions.waits:
                self.parts.schedule.every(ROLL, self.transactions.roll)
        context.invoke_hook_prepare()
        if context.task_hooks:
            self.parts.collector.tell_of_emits(context.invoke_hook_emit)
            self.loop.use_hooks()
        else:
            _shorten_ack(self.component)
        global_metrics.init(context, GLOBAL_METRICS_BUCKET)
        for name, (_, seconds) in context.metrics.items():
            sampler = MetricSampler(context.metrics, name, self.parts.counters)
            self.parts.schedule.every(seconds, sampler.sample, matters=sampler.has_news)
        ticks = tick_seconds(context.get_cluster_config())
        if isinstance(self.loop, BoltTask) and ticks:
            self.loop.start_ticks(ticks)
        if self.parts.tracker is not None:
            self.parts.schedule.every(self.parts.tracker.patience, self.parts.tracker.expire)
        if isinstance(self.loop, BoltTask):
            self.loop.timing.begin()
        self.parts.inflow.greet()

    def held_up_by(self) -> str:
        """The task whose credit emit() waits for at this moment, or nothing. Safe from any thread."""
        culprit, plan = self.parts.outbox.held_up_by, self.parts.context.plan
        # A plan that comes while emit() waits may have no such task any more.
        return plan.task(culprit).label if culprit is not None and plan.has(culprit) else ""

    @property
    def halted(self) -> bool:
        """Whether it has stopped before a poison tuple."""
        return isinstance(self.loop, BoltTask) and self.loop.halted

    def turn(self) -> Turn:
        """One turn of the task. It may end inside emit(), when that waits and the process has to stop."""
        try:
            return self.loop.turn()
        except Stopping:
            return Turn.DONE
        except TupleTooLarge as error:
            self._raise_located(error)

    def patience(self) -> float:
        """Seconds until the next turn, if nothing comes before."""
        return self.loop.patience()

    def flush(self) -> None:
        """Send what can be sent."""
        try:
            self.parts.outbox.flush()
        except TupleTooLarge as error:
            self._raise_located(error)

    def _raise_located(self, error: TupleTooLarge) -> NoReturn:
        """The same error with the line of the user's emit(), unless it was raised inside that."""
        if describe_user_error(error).file:
            raise error
        raise located(error, type(self.component)) from None

    def abandon(self) -> None:
        """End without sending anything: all tasks go back to a checkpoint. Errors of close() are logged."""
        if self.saver is not None:
            self.saver.abandon()
        try:
            self.parts.context.invoke_hook_cleanup()
            self.component.close()
        except Exception as error:
            self.parts.logger.warning("close() failed while the task was being rebuilt: %r", error)
        except Abandoned:
            self.parts.logger.warning("close() waited in emit() and was cut short: the task is being rebuilt")

    def close(self) -> None:
        """Send what can be sent, call the hooks' clean_up() and, whatever they do, the user's close()."""
        try:
            if self.transactions is not None and not self.transactions.waits:
                self.transactions.roll()
                if self.parts.acks is not None:
                    self.parts.acks.flush()
            self.flush()
            self.parts.context.invoke_hook_cleanup()
        finally:
            self.component.close()
            if self.saver is not None:
                self.saver.close()


def _shorten_emit(component: Spout | Bolt) -> None:
    """Saves one call per tuple, where neither emit nor the delegate has been replaced."""
    delegate = component.delegate
    if (isinstance(delegate, SpoutDelegate) and type(component).emit is BaseSpout.emit) or (
        isinstance(delegate, BoltDelegate) and type(component).emit is BaseBolt.emit
    ):
        vars(component)["emit"] = delegate.emit


def _shorten_ack(component: Spout | Bolt) -> None:
    """The same for a bolt's ack."""
    if isinstance(component.delegate, BoltDelegate) and type(component).ack is BaseBolt.ack:
        vars(component).setdefault("ack", component.delegate.shortest_ack())


def build_task(
    plan: PhysicalPlan,
    task_id: int,
    incarnation: int,
    link: Link,
    settings: FlowSettings,
    find_class: ClassFinder,
    clock: Callable[[], float] = time.monotonic,
    pick: Callable[[int], int] = random.randrange,
    wall: Callable[[], float] = time.time,
    *,
    run: int = 0,
    counters: Counters | None = None,
    keeping: SavingSettings | None = None,
    store: Callable[[], CheckpointStore] | None = None,
    sent: Sent | None = None,
    worked_off: WorkedOff | None = None,
    poison: Finding | None = None,
    may_wait: bool = True,
    near: FindNear = nobody_near,
) -> Task:
    """Make the component and its surroundings; nothing of the user's runs but constructors.

    `run` is on every frame, and frames of another run are dropped. `counters` are those of the task that this
    one replaces in the same process. Without `keeping` nothing of the task is saved; `store` is then for
    the component's own objects. `poison`: what is known of tuples that kill it. `may_wait`: whether emit()
    may wait for credit, which it must not where other tasks have the same thread; `near`: the way to those.
    """
    placed = plan.task(task_id)
    component = plan.logical.component(placed.component)
    config = merged_config(plan.logical, component.name)
    context = TopologyContext(plan, task_id, config)
    context.store = keeping.store if keeping is not None else store
    settings = msgspec.structs.replace(settings, drop=drops_when_full(plan.logical, default=settings.drop))
    counters = counters or Counters()
    codec = _codec(config, find_class)
    sender = Sender(task_id, incarnation, plan.epoch, run)
    inflow = Inflow(plan, sender, link, settings, counters, worked_off)
    outbox = Outbox(plan, sender, codec, link, settings, counters, clock, sent, may_wait=may_wait, near=near)
    counters.held_up_seconds = outbox.hold_ups.seconds
    collector = Collector(plan, task_id, outbox, counters, _chooser_maker(context, find_class), pick)
    cls, logger = find_class(component.class_path), logging.getLogger(placed.label)
    state = TaskState(plan, task_id, cls)
    parts = TaskWiring(
        plan, context, sender, settings, counters, codec, link, inflow, outbox, collector,
        Schedule(clock), logger, clock, wall, InputTime(plan, task_id),
        _tracker(plan, task_id, incarnation, config, clock),
        OutgoingAcks(sender, link, settings) if tracks(plan) else None,
        Awaiting() if keeping is not None and component.kind == "spout" and has_runs(plan) else None,
        state, state.open,
    )  # fmt: skip
    load_auto_hooks(context, find_class)
    collector.settle = outbox.settle = _settling(parts)
    exchange = FrameDispatch(sender, inflow, outbox, counters)
    if parts.tracker is not None:
        exchange.on_acks = parts.tracker.on_acks
    delegate = SpoutDelegate(parts) if component.kind == "spout" else BoltDelegate(parts)
    made: Spout | Bolt = make_component(cls, delegate)
    state.attach(made)
    transactions = _transactions(made, plan, task_id, keeping)
    end = TaskEnd(
        made, parts, transactions, waits=keeping is not None and has_runs(plan), restored=_had_ended(keeping)
    )
    loop = _loop(made, delegate, parts, end, poison)
    task = Task(made, loop, parts, exchange, end, EventReport(made, parts), transactions)
    return task if keeping is None else _kept(task, keeping, incarnation, run)


def _kept(task: Task, keeping: SavingSettings, incarnation: int, run: int) -> Task:
    """The task with what it begins with, and with all that saves it from now on."""
    made, loop, parts = task.component, task.loop, task.parts
    saved = keeping.saved
    if saved is not None:
        parts.state.restore(saved)
        parts.input_time.begin_anew(saved.watermarks)
        if saved.notes is not None and isinstance(made, KeepsNotes):
            made.init_notes(saved.notes)
        for extras in saved.extras if keeping.rows else ():
            put_back(extras, parts.outbox, parts.collector, parts.plan, parts.context.get_component_id())
    saver = Saver(parts.state, keeping.store, keeping.prefix, keeping.on_stored, incarnation, parts.clock)
    over = loop.over if isinstance(loop, SpoutTask) else None
    waiting = task.transactions if task.transactions is not None and task.transactions.waits else None
    saving = loop.saving = Snapshots(made, parts, saver, run, waiting, over, task.end)
    return task._replace(saver=saver, saving=saving)


def _transactions(
    made: Spout | Bolt, plan: PhysicalPlan, task_id: int, keeping: SavingSettings | None
) -> Transactions | None:
    if not isinstance(made, TransactionalSink):
        return None
    if keeping is None:
        return Transactions(made, f"{plan.topology}-{task_id}", (), waits=False)
    owner = f"{keeping.prefix.replace('/', '-')}-{task_id}"
    saved = keeping.saved.extras if keeping.saved is not None else ()
    return Transactions(made, owner, saved, waits=has_runs(plan))


def _had_ended(keeping: SavingSettings | None) -> bool:
    """Whether the task continues one that had ended, with all that this one had."""
    saved = keeping.saved if keeping is not None and keeping.exact else None
    return saved is not None and any(ENDED in extras for extras in saved.extras)


def _loop(
    made: Spout | Bolt,
    delegate: SpoutDelegate | BoltDelegate,
    parts: TaskWiring,
    end: TaskEnd,
    poison: Finding | None,
) -> SpoutTask | BoltTask:
    if isinstance(delegate, SpoutDelegate):
        return SpoutTask(cast("Spout", made), delegate, parts, end)
    return BoltTask(cast("Bolt", made), delegate, parts, _guard(parts, poison), end)


def _guard(parts: TaskWiring, poison: Finding | None) -> Guard | Unguarded:
    if poison is None:
        return Unguarded()
    mode, deaths, late = poison_settings(parts.plan.logical, parts.context.get_cluster_config())
    settings = PoisonSettings("skip" if mode == "skip" else "stop", deaths, max(CAREFUL, late))
    return poison.guard(settings, parts.codec, parts.clock)


def tracks(plan: PhysicalPlan) -> bool:
    """Whether the topology tracks the tuples of its spouts."""
    return plan.logical.reliability == "at_least_once"


def _tracker(
    plan: PhysicalPlan,
    task_id: int,
    incarnation: int,
    config: dict[str, Any],
    clock: Callable[[], float],
) -> Tracker | None:
    spout = plan.logical.component(plan.task(task_id).component).kind == "spout"
    if not spout or not tracks(plan):
        return None
    timeout, pending = tree_limits(config)
    return Tracker(Roots(task_id, incarnation, timeout), clock, pending)


def _settling(parts: TaskWiring) -> Callable[[Edges], None]:
    """The callback for a copy of a tuple that was dropped as not needed."""
    told_to = parts.tracker or parts.acks
    return told_to.settle if told_to is not None else lambda _: None


def _codec(config: dict[str, Any], find_class: ClassFinder) -> Codec:
    path = config.get(TOPOLOGY_SERIALIZER_CLASSNAME)
    if not path:
        return PlainCodec()
    serializer = find_class(path)()
    serializer.initialize(config)
    return SerializerCodec(serializer)


def _chooser_maker(
    context: TopologyContext, find_class: ClassFinder
) -> Callable[[Input, Sequence[int]], Chooser]:
    def make(edge: Input, tasks: Sequence[int]) -> Chooser:
        declared = edge.grouping
        chooser = pickle.loads(declared.pickled) if declared.pickled else find_class(declared.class_path)()
        chooser.prepare(context, edge.component, edge.stream, list(tasks))
        prepared: Chooser = chooser
        return prepared

    return make
