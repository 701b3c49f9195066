"""Windows over checkpoints: what was in them is in them again, and the clock has stood still meanwhile."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import pytest
from support.faults.two_clocks import TwoClocks
from support.tasks.ensemble import Ensemble
from support.tasks.keeping import Keeper, plan_with, restored

from heronpy import Bolt, Grouping, Spout, Topology, Tuple
from heronpy.component import make_component
from heronpy.context import TopologyContext
from heronpy.instances.acking.anchored import Anchored
from heronpy.state import HashMapState, StatefulComponent, give_state
from heronpy.testing.placing import placed
from heronpy.transactions import TransactionalSink
from heronpy.tuple import TupleHelper, tuple_class
from heronpy.window import SlidingWindowBolt, TumblingWindowBolt, WindowContext

TICK = TupleHelper.make_tick_tuple()
NUMBERS = 150


class Engine:
    logger = logging.getLogger("engine")

    def __init__(self) -> None:
        self.acked: list[Any] = []

    def ack(self, tup: Tuple) -> None:
        self.acked.append(tup.word)


class _Showing:
    """Keeps what it was given, by the field."""

    windows: list[tuple[WindowContext, list[str]]]

    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        self.windows.append((window_info, [tup.word for tup in tuples]))


class Sliding(_Showing, SlidingWindowBolt):
    pass


class Tumbling(_Showing, TumblingWindowBolt):
    pass


SLIDING = {SlidingWindowBolt.WINDOW_DURATION_SECS: 4, SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS: 2}
TUMBLING = {TumblingWindowBolt.WINDOW_DURATION_SECS: 10}


def started(cls: type[Any], config: dict[str, Any], state: Any, clock: TwoClocks) -> tuple[Any, Engine]:
    engine = Engine()
    bolt = make_component(cls, engine)
    bolt.clock, bolt.windows = clock, []
    give_state(bolt, lambda: state)
    bolt.initialize(dict(config), TopologyContext(plan_with(4), 2, dict(config)))
    return bolt, engine


def tuple_of(word: str, tup_id: object = None) -> Tuple:
    made: Tuple = tuple.__new__(tuple_class(("word",)), (tup_id, "words", "default", 1, [word]))
    return made


def successor(keeper: Keeper, bolt: Any, config: dict[str, Any], clock: TwoClocks) -> tuple[Any, Engine]:
    """Saved now, through the bytes of a checkpoint, and begun anew with it a long time later."""
    bolt.pre_save("1")
    state = HashMapState()
    state.update(restored(keeper, keeper.save(1), type(bolt)))
    keeper.saver.close()
    clock.now += 5000
    return started(type(bolt), config, state, clock)


def test_a_tumbling_window_ends_when_it_would_have_ended() -> None:
    keeper, clock = Keeper(plan_with(4), cls=Tumbling), TwoClocks()
    bolt, _ = started(Tumbling, TUMBLING, keeper.state, clock)
    assert bolt.first_tick_secs is None
    clock.now += 10
    bolt.process_tick(TICK)
    clock.now += 3
    bolt.process(tuple_of("a"))
    bolt.process(tuple_of("b"))
    heir, engine = successor(keeper, bolt, TUMBLING, clock)
    assert heir.first_tick_secs == 7
    heir.process(tuple_of("c"))
    clock.now += 7
    heir.process_tick(TICK)
    assert heir.windows == [(WindowContext(6010, 6020), ["a", "b", "c"])]
    assert engine.acked == ["a", "b", "c"]


def test_a_tuple_is_in_as_many_sliding_windows_as_if_nothing_had_happened() -> None:
    keeper, clock = Keeper(plan_with(4), cls=Sliding), TwoClocks()
    bolt, _ = started(Sliding, SLIDING, keeper.state, clock)
    clock.now += 1
    bolt.process(tuple_of("a"))
    clock.now += 1
    bolt.process_tick(TICK)
    clock.now += 1
    bolt.process(tuple_of("b"))
    clock.now += 0.5
    heir, engine = successor(keeper, bolt, SLIDING, clock)
    assert heir.first_tick_secs == 0.5
    clock.now += 0.5
    for _ in range(3):
        heir.process_tick(TICK)
        clock.now += 2
    assert [words for _, words in bolt.windows + heir.windows] == [["a"], ["a", "b"], ["b"], []]
    assert engine.acked == ["a", "b"]


def test_at_least_once_a_tuple_in_a_window_can_still_be_acked() -> None:
    keeper, clock = Keeper(plan_with(4), cls=Tumbling), TwoClocks()
    bolt, _ = started(Tumbling, TUMBLING, keeper.state, clock)
    bolt.process(tuple_of("a", Anchored(7, 11)))
    heir, _ = successor(keeper, bolt, TUMBLING, clock)
    (held,) = heir.current_tuples
    assert (held.id.root, held.id.value, held.word, held["word"]) == (7, 11, "a", "a")


def test_the_window_that_is_saved_does_not_change_with_the_one_that_goes_on() -> None:
    keeper, clock = Keeper(plan_with(4), cls=Tumbling), TwoClocks()
    bolt, _ = started(Tumbling, TUMBLING, keeper.state, clock)
    bolt.process(tuple_of("a"))
    bolt.pre_save("1")
    keeper.saver.snapshot(1, 0, {})
    bolt.process(tuple_of("b"))
    state = restored(keeper, keeper.finish(), Tumbling)
    keeper.saver.close()
    assert [tup.word for tup in state["tuples"]] == ["a"]


class World:
    """Outside of the topology: the time, and the windows that were shown."""

    ensemble: ClassVar[Any] = None
    prepared: ClassVar[dict[bytes, list[Any]]] = {}
    committed: ClassVar[dict[bytes, list[Any]]] = {}


class EnsembleTime:
    """A clock for bolts that are made before the test can reach them."""

    def monotonic(self) -> float:
        now: float = World.ensemble.now
        return now

    time = monotonic


class Numbers(StatefulComponent, Spout):
    outputs: ClassVar = ["number"]

    def init_state(self, state: Any) -> None:
        self.position = state.get("position", 0)

    def next_tuple(self) -> None:
        if self.position < NUMBERS:
            self.position += 1
            self.emit([self.position])

    def pre_save(self, checkpoint_id: str) -> None:
        self.state["position"] = self.position


class Windows(TumblingWindowBolt):
    outputs: ClassVar = ["numbers"]
    clock = EnsembleTime()

    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        if tuples:
            self.emit([[tup.number for tup in tuples]])


class Ledger(TransactionalSink, Bolt):
    def begin(self) -> None:
        self.open: list[Any] = []

    def prepare(self, checkpoint: int) -> bytes:
        handle = f"{self.owner}/{len(World.prepared) + len(World.committed)}".encode()
        World.prepared[handle] = self.open
        return handle

    def commit(self, handle: bytes) -> None:
        if handle not in World.committed:
            World.committed[handle] = World.prepared[handle]

    def abort(self) -> None:
        """What is prepared stays, so that no name comes twice."""

    def process(self, tup: Tuple) -> None:
        self.open += tup.numbers


class Windowed(Topology):
    config: ClassVar = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    windows = Windows.spec(
        inputs={numbers: Grouping.SHUFFLE}, config={TumblingWindowBolt.WINDOW_DURATION_SECS: 0.13}
    )
    ledger = Ledger.spec(inputs={windows: Grouping.SHUFFLE})


@pytest.mark.parametrize("seed", range(8))
def test_every_number_is_in_one_window_that_is_shown_whoever_dies(seed: int) -> None:
    World.prepared.clear()
    World.committed.clear()
    ensemble = World.ensemble = Ensemble(*placed(Windowed, 1), seed)
    shown: list[int] = []
    kills = 0
    try:
        while len(shown) < NUMBERS or kills < 3:
            assert ensemble.now < 600, f"{len(shown)} numbers in windows"
            for _ in range(ensemble.dice.randint(1, 25)):
                ensemble.round()
            if kills < 6 and ensemble.dice.random() < 0.4:
                ensemble.dice.choice(list(ensemble.places.values())).kill()
                ensemble.begin_run()
                kills += 1
            ensemble.checkpoint()
            shown = [number for numbers in World.committed.values() for number in numbers]
    finally:
        ensemble.close()
    assert sorted(shown) == list(range(1, NUMBERS + 1))
