"""What a task does at a barrier, and when the checkpoint is complete or given up."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.tasks.shelf import Shelf

from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.instances.acking.awaiting import Awaiting
from heronpy.instances.acking.roots import Over
from heronpy.instances.control_events import Abandoned, ControlEvents, EventInbox
from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.progress import Progress
from heronpy.instances.saving.run_membership import LeaveForNextRun, origin_of, rows_are_unsent
from heronpy.instances.saving.sink_transactions import TRANSACTIONS, Transactions
from heronpy.instances.saving.snapshot import SavingSettings
from heronpy.instances.task.build import build_task
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.tree.update import Update
from heronpy.testing import TopologyTest
from heronpy.testing.placing import placed
from heronpy.transactions import TransactionalSink


class Words(Spout):
    outputs = ("word",)


class Sink(TransactionalSink, Bolt):
    """Writes down what it is asked to do."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def begin(self) -> None:
        self.asked.append("begin")

    def prepare(self, checkpoint: int) -> bytes:
        self.asked.append(("prepare", checkpoint))
        return b"t%d" % checkpoint

    def commit(self, handle: bytes) -> None:
        self.asked.append(("commit", handle))

    def abort(self) -> None:
        self.asked.append("abort")

    def process(self, tup: object) -> None:
        self.asked.append("process")


class OnceOnly(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    words = Words.spec()
    sink = Sink.spec(inputs={words: Grouping.SHUFFLE})


class Radio:
    """News as the control thread would have it."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.news = 0
        self.plan: PhysicalPlan | None = placed(OnceOnly, 1)[0]
        self.active = True
        self.checkpoints: Checkpoints | None = checkpoints
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        self.progress = Progress()

    def tell(self) -> None:
        pass


class Listener:
    def __init__(self) -> None:
        self.heard: list[ControlEvents] = []
        self.acted = 0

    def hear(self, news: ControlEvents) -> None:
        self.heard.append(news)

    def act(self) -> None:
        self.acted += 1


def ref(number: int) -> CheckpointRef:
    return CheckpointRef(number, f"t/e/{number}/manifest", "")


def test_news_is_heard_once_inside_emit_too_but_acted_on_between_calls_only() -> None:
    radio, listener = Radio(Checkpoints()), Listener()
    attention = EventInbox(radio)
    attention.listeners.append(listener)
    attention.peek()
    attention.peek()
    assert (len(listener.heard), listener.acted) == (1, 0)
    attention.look()
    assert (len(listener.heard), listener.acted) == (1, 1)
    radio.news += 1
    attention.look()
    assert (len(listener.heard), listener.acted) == (2, 2)


@pytest.mark.parametrize(
    ("run", "members", "leaves"),
    [(2, {2: 7}, False), (3, {2: 7}, True), (3, {2: 6}, False), (3, {}, False), (1, {2: 7}, False)],
)
def test_a_task_leaves_its_run_for_a_later_one_that_it_is_a_member_of(
    run: int, members: dict[int, int], leaves: bool
) -> None:
    watch, radio = LeaveForNextRun(2, task=2, incarnation=7), Radio(Checkpoints(run=run, members=members))
    if leaves:
        with pytest.raises(Abandoned):
            watch.hear(radio)
    else:
        watch.hear(radio)


def test_effectively_once_everybody_begins_with_the_same_checkpoint_else_each_with_the_newest() -> None:
    node = Checkpoints(base=ref(3), complete=(ref(4), ref(5)))
    together, _ = placed(OnceOnly, 1)

    class Alone(Topology):
        words = Words.spec()

    alone, _ = placed(Alone, 1)
    assert origin_of(together, node) == ref(3)
    assert origin_of(alone, node) == ref(5)
    assert origin_of(alone, Checkpoints(base=ref(1))) == ref(1)
    assert origin_of(alone, Checkpoints()) is None


def test_what_waited_in_the_checkpoint_that_a_topology_was_submitted_with_leaves_once() -> None:
    class Alone(Topology):
        words = Words.spec()

    class Again(Topology):
        config = {"topology.reliability.mode": "ATLEAST_ONCE"}
        words = Words.spec()

    (alone, _), (again, _), (together, _) = placed(Alone, 1), placed(Again, 1), placed(OnceOnly, 1)
    submitted = Checkpoints.submitted_with(ref(1))
    later = Checkpoints(base=ref(1), complete=(ref(1), ref(2)), started=2)
    assert rows_are_unsent(alone, submitted, first=True)
    assert not rows_are_unsent(alone, submitted, first=False)
    assert rows_are_unsent(again, submitted, first=False)
    assert not any(rows_are_unsent(plan, later, first=True) for plan in (alone, again))
    assert rows_are_unsent(together, later, first=False)


def test_ids_are_over_with_the_first_complete_checkpoint_behind_them() -> None:
    awaiting = Awaiting()
    awaiting.note("a", 1.0)
    awaiting.cut(1)
    awaiting.note("b", 2.0)
    awaiting.cut(2)  # 1 was given up
    awaiting.note("c", 3.0)
    awaiting.cut(3)
    awaiting.note("d", 4.0)
    assert awaiting.pending == 4
    over = awaiting.complete(2, 5.0)
    assert (over.ids, over.born, over.at) == (["a", "b"], [1.0, 2.0], 5.0)
    assert awaiting.complete(2, 6.0).ids == []
    assert awaiting.pending == 2
    assert awaiting.complete(3, 6.0).ids == ["c"]


def test_a_transaction_is_committed_when_its_checkpoint_is_complete() -> None:
    sink = Sink.__new__(Sink)
    sink.asked = []
    transactions = Transactions(sink, "t", [], waits=True)
    transactions.recover()
    transactions.prepare(1)
    transactions.complete(1)
    transactions.complete(1)
    assert sink.asked == ["abort", "begin", ("prepare", 1), "begin", ("commit", b"t1")]


def test_a_transaction_whose_checkpoint_is_given_up_is_committed_with_the_next_and_saved_with_it() -> None:
    sink = Sink.__new__(Sink)
    sink.asked = []
    transactions = Transactions(sink, "t", [], waits=True)
    transactions.recover()
    transactions.prepare(1)
    saved = transactions.prepare(2)
    transactions.complete(2)
    assert sink.asked[-2:] == [("commit", b"t1"), ("commit", b"t2")]
    successor = Sink.__new__(Sink)
    successor.asked = []
    Transactions(successor, "t", [{TRANSACTIONS: saved}, {"rows": b""}], waits=True).recover()
    assert successor.asked == [("commit", b"t1"), ("commit", b"t2"), "abort", "begin"]


def test_in_the_testing_kit_a_transactional_sink_has_its_transaction_open() -> None:
    with TopologyTest(OnceOnly) as run:
        run.feed("words", [["a"]])
        run.run()
        asked: Sequence[object] = run.component("sink").asked
        assert asked == ["abort", "begin", "process"]


def test_who_is_not_in_the_run_does_not_commit_what_its_checkpoints_say() -> None:
    """Another process has its place, and has discarded what it prepared: the tuples came again."""
    plan, find = placed(OnceOnly, 1)
    radio = Radio(Checkpoints(run=1, members={1: 1, 2: 1}, started=1))
    keeping = SavingSettings(Shelf, "t/x", lambda _stored, _kind: None)
    task = build_task(plan, 2, 1, MemoryLinks().open(2), FlowSettings(), find, run=1, keeping=keeping)
    task.initialize()
    assert task.saving is not None
    attention = EventInbox(radio)
    attention.listeners += [LeaveForNextRun(1, 2, 1), task.saving]
    task.saving.begin(1)
    radio.checkpoints = Checkpoints(
        run=2, members={1: 1, 2: 2}, started=2, aborted=1, complete=(CheckpointRef(2, "m", "c"),)
    )
    radio.news += 1
    attention.look()
    assert isinstance(task.component, Sink)
    assert task.component.asked == ["abort", "begin", ("prepare", 1), "begin"]
    task.abandon()


def test_ids_of_a_spout_that_retires_are_acked_by_the_one_that_has_them_now() -> None:
    retiring, staying = Awaiting(), Awaiting()
    retiring.note("a", 1.0)
    retiring.cut(3)
    retiring.note(("b", 2), 2.0)
    staying.note("mine", 2.0)
    staying.adopt(retiring.hand_over(), 7.0)
    assert retiring.pending == 2  # nothing may come of it
    staying.cut(4)
    assert staying.complete(4, 9.0) == Over(["mine", "a", ("b", 2)], [2.0, 7.0, 7.0], 9.0)
    assert staying.hand_over() == b""


def test_ids_that_cannot_leave_their_process_keep_nobody_from_retiring(
    caplog: pytest.LogCaptureFixture,
) -> None:
    retiring = Awaiting()
    retiring.note(lambda: None, 1.0)
    assert retiring.hand_over() == b""
    assert "1 ids will not be acked" in caplog.text
