"""Many tasks on one thread: for any graph and order, all arrives once, and no task waits inside emit()."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from support.tasks.diced_links import DicedLinks

from heronpy import Bolt, Grouping, Spout, TopologyBuilder, TopologyContext, Tuple
from heronpy.instances.execution.many_tasks import ManyTasks
from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.near_rows import nobody_near
from heronpy.instances.output.outbox import Outbox
from heronpy.instances.task.build import Task, build_task
from heronpy.testing.placing import placed

GROUPINGS = {"shuffle": Grouping.SHUFFLE, "all": Grouping.ALL, "fields": Grouping.fields("key")}


class Account:
    """What a component keeps of itself, for the test to look at."""

    outbox: Outbox

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.task = context.get_task_id()
        self.serials = itertools.count()
        #: (task of the emitter, its serial number) of all that came
        self.got: list[tuple[int, int]] = []
        self.sent: list[int] = []
        #: most tuples that one call has emitted
        self.most = 0

    def emit_some(self, emitter: Any, count: int) -> None:
        assert not self.outbox.overfull, "called although a lane is above its limit"
        self.most = max(self.most, count)
        for _ in range(count):
            serial = next(self.serials)
            self.sent.append(serial)
            emitter.emit([serial % 5, serial])


class Source(Account, Spout):
    outputs = ["key", "serial"]
    burst = 1
    total = 0

    def next_tuple(self) -> None:
        count = min(self.burst, self.total - len(self.sent))
        self.emit_some(self, count)


class Relay(Account, Bolt):
    outputs = ["key", "serial"]
    burst = 1

    def process(self, tup: Tuple) -> None:
        self.got.append((tup.task, tup.serial))
        self.emit_some(self, self.burst)


class BatchRelay(Account, Bolt):
    outputs = ["key", "serial"]
    burst = 1

    def process_batch(self, tuples: list[Tuple]) -> None:
        self.got += [(tup.task, tup.serial) for tup in tuples]
        self.emit_some(self, self.burst * len(tuples))


class Shape(NamedTuple):
    """Parallelism of the spouts; then of each bolt, with its class and the groupings of its inputs."""

    spouts: list[int]
    bolts: list[tuple[int, type[Bolt], dict[int, str]]]
    #: tuples of each call, by component
    bursts: list[int]
    #: tuples of each spout task
    total: int
    batch: int
    credit: int
    #: whether batches are handed over without a codec
    near: bool
    seed: int


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    parallelism = st.integers(1, 3)
    spouts = draw(st.lists(parallelism, min_size=1, max_size=2))
    bolts = []
    for number in range(draw(st.integers(1, 3))):
        earlier = st.integers(0, len(spouts) + number - 1)
        inputs = draw(st.dictionaries(earlier, st.sampled_from(sorted(GROUPINGS)), min_size=1, max_size=2))
        bolts.append((draw(parallelism), draw(st.sampled_from([Relay, BatchRelay])), inputs))
    bursts = st.lists(st.integers(0, 4), min_size=len(spouts) + len(bolts), max_size=len(spouts) + len(bolts))
    return Shape(
        spouts, bolts, draw(bursts), draw(st.integers(0, 12)), draw(st.integers(1, 4)),
        draw(st.integers(1, 4)), draw(st.booleans()), draw(st.integers(0, 2**32)),
    )  # fmt: skip


class Watched:
    """A task whose lanes overshoot by what one call emits, at most."""

    def __init__(self, task: Task, batch: int) -> None:
        self.task = task
        self.account: Any = task.component
        self._batch = batch
        self.patience = task.patience

    def turn(self) -> Turn:
        turn = self.task.turn()
        for lane in self.task.parts.outbox.unsent():
            assert len(lane.rows) < self._batch + max(1, self.account.most)
        return turn


class Loop:
    """A topology on one thread, in an order and with deliveries that a seed decides."""

    def __init__(self, shape: Shape) -> None:
        dice = random.Random(shape.seed)
        self.now = 0.0
        self.links = DicedLinks(dice)
        self.loop = ManyTasks(
            self.links, self._wait, lambda: self.now, lambda members: dice.sample(members, len(members))
        )
        self.plan, find = placed(_built(shape), 1)
        settings = FlowSettings(batch_tuples=shape.batch, credit_initial=shape.credit, credit_window=0.001)
        self.tasks: dict[int, Watched] = {}
        for placement in self.plan.tasks:
            link = self.links.open(placement.id)
            task = build_task(
                self.plan, placement.id, 1, link, settings, find, lambda: self.now, dice.randrange,
                may_wait=False, near=self.links.near if shape.near else nobody_near,
            )  # fmt: skip
            link.handler, link.on_batch = task.on_frame, task.exchange.on_batch
            watched = self.tasks[placement.id] = Watched(task, shape.batch)
            component: Any = task.component
            component.outbox = task.parts.outbox
            component.burst = shape.bursts[int(placement.component[1:])]
            component.total = shape.total if component.burst else 0
            self.loop.add(placement.id, watched, link)
        for watched in self.tasks.values():
            watched.task.initialize()

    def _wait(self, seconds: float) -> None:
        assert self.now < 100, "something is blocked for ever"
        self.now += max(seconds, 1e-6)
        self.links.stopping = all(self._is_over(watched.task) for watched in self.tasks.values())

    def _is_over(self, task: Task) -> bool:
        component: Any = task.component
        read = not isinstance(component, Source) or len(component.sent) == component.total
        return read and not task.loop.has_input and task.parts.outbox.settling.idle


def _built(shape: Shape) -> TopologyBuilder:
    builder = TopologyBuilder("random")
    specs = [builder.add_spout(f"c{number}", Source, par) for number, par in enumerate(shape.spouts)]
    for par, cls, inputs in shape.bolts:
        edges = {specs[number]: GROUPINGS[kind] for number, kind in inputs.items()}
        specs.append(builder.add_bolt(f"c{len(specs)}", cls, par, edges))
    return builder


@given(shapes())
def test_every_tuple_arrives_once_and_in_order_however_little_credit_there_is(shape: Shape) -> None:
    run = Loop(shape)
    run.loop.run()
    for number, (_, _, inputs) in enumerate(shape.bolts, len(shape.spouts)):
        readers = [run.tasks[task.id].account for task in run.plan.tasks_of(f"c{number}")]
        for source, kind in inputs.items():
            senders = [run.tasks[task.id].account for task in run.plan.tasks_of(f"c{source}")]
            emitted = Counter((sender.task, serial) for sender in senders for serial in sender.sent)
            tasks = {sender.task for sender in senders}
            came = [[one for one in reader.got if one[0] in tasks] for reader in readers]
            if kind == "all":
                assert all(Counter(at_one) == emitted for at_one in came)
            else:
                assert Counter(itertools.chain.from_iterable(came)) == emitted
            for at_one, task in itertools.product(came, tasks):
                serials = [serial for sender, serial in at_one if sender == task]
                assert serials == sorted(serials)
    for watched in run.tasks.values():
        counters = watched.task.parts.counters
        assert (counters.missing, counters.maybe_lost, counters.rejected) == (0, 0, 0)


class Counting:
    """Says what the test wants it to, and counts its turns."""

    def __init__(self, *answers: Turn) -> None:
        self.answers = list(answers)
        self.turns = 0

    def turn(self) -> Turn:
        self.turns += 1
        return self.answers.pop(0) if self.answers else Turn.DONE

    def patience(self) -> float:
        return 0.5


def test_tasks_with_short_turns_get_as_much_time_in_a_round_as_others() -> None:
    now, links = [0.0], MemoryLinks()
    loop = ManyTasks(links, clock=lambda: now[0], share=1.0)

    class Taking(Counting):
        def __init__(self, seconds: float) -> None:
            super().__init__(*[Turn.MORE] * 20)
            self.seconds = seconds

        def turn(self) -> Turn:
            now[0] += self.seconds
            return super().turn()

    short, long, done = Taking(0.25), Taking(3.0), Counting(Turn.MORE, Turn.DONE, Turn.MORE)
    for number, task in enumerate((short, long, done)):
        loop.add(number, task, links.open(number))
    loop.round()
    assert (short.turns, long.turns, done.turns) == (4, 1, 2)


def test_a_task_that_is_done_or_blocked_is_called_again_when_it_is_due() -> None:
    now, links = [0.0], MemoryLinks()
    loop = ManyTasks(links, clock=lambda: now[0])
    busy, done, blocked = Counting(Turn.MORE, Turn.MORE), Counting(), Counting(Turn.BLOCKED)
    for number, task in enumerate((busy, done, blocked)):
        loop.add(number, task, links.open(number))
    rounds = 0
    while loop.round():
        rounds += 1
    assert (rounds, busy.turns, done.turns, blocked.turns) == (3, 3, 1, 1)
    now[0] = loop.patience()
    loop.wake(1)
    assert loop.round()
    assert (now[0], busy.turns, done.turns, blocked.turns) == (0.5, 4, 2, 2)
    loop.remove(1)
    loop.wake(0)
    loop.round()
    assert (busy.turns, done.turns) == (5, 2)


def test_idle_tasks_come_to_be_called_together() -> None:
    """Each wake-up of the process costs more than all these calls."""
    now, links, wakes = [0.0], MemoryLinks(), 0
    loop = ManyTasks(links, clock=lambda: now[0])
    tasks = [Counting() for _ in range(10)]
    for number, task in enumerate(tasks):
        loop.add(number, task, links.open(number))
        loop.round()
        now[0] += 0.05
    while now[0] < 10:
        now[0] += loop.patience()
        assert loop.round()
        wakes += 1
    assert wakes < 30, "twice a second, once they are together"
    assert all(20 <= task.turns <= 30 for task in tasks)
