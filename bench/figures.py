"""What is compared with what: the rows of the table in RESULTS.md, and the sides that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bench.arithmetic import Goal

#: one round: what each side that ran in it gave, by name
Round = Mapping[str, Mapping[str, float]]


class Figure(NamedTuple):
    """How many times better the first is than the second; or, without a second, a value of the first."""

    key: str
    title: str
    #: what is compared: `rate` is better the larger it is, all else the smaller
    measure: str
    first: str
    second: str | None
    goal: Goal
    #: two sides that are the same, or a side and its twin: how far a ratio may be from the truth
    twins: tuple[str, str]

    @property
    def borrowed(self) -> str:
        """The side whose noise is printed, where it is none of those compared; else empty."""
        return "" if {self.first, self.second} & set(self.twins) else self.twins[0]

    @property
    def sides(self) -> tuple[str, ...]:
        named = (self.first, self.second, *self.twins)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def values(self, rounds: Iterable[Round]) -> list[float]:
        """Of each round in which both ran."""
        return self._values(rounds, self.first, self.second)

    def noise(self, rounds: Iterable[Round]) -> list[float]:
        """The ratios of the A/A pair."""
        return self._values(rounds, *self.twins)

    def _values(self, rounds: Iterable[Round], first: str, second: str | None) -> list[float]:
        found = []
        for each in rounds:
            a = each.get(first, {}).get(self.measure)
            if second is None:
                found += [a] if a is not None else []
                continue
            b = each.get(second, {}).get(self.measure)
            if a and b:
                found.append(a / b if self.measure == "rate" else b / a)
        return found


def better(
    key: str,
    title: str,
    measure: str,
    pair: tuple[str, str],
    goals: tuple[float | None, float | None] = (None, None),
    twins: tuple[str, str] = ("rows", "rows again"),
) -> Figure:
    """The first of the pair is to be at least so many times better."""
    return Figure(key, title, measure, *pair, Goal(*goals), twins)


def limit(
    key: str, title: str, measure: str, side: str, goals: tuple[float, float | None], twins: tuple[str, str]
) -> Figure:
    """The value is to be at most this."""
    return Figure(key, title, measure, side, None, Goal(*goals, most=True), twins)


def shown(key: str, title: str, measure: str, side: str, twins: tuple[str, str]) -> Figure:
    """A value without a goal."""
    return Figure(key, title, measure, side, None, Goal(), twins)


_COLUMNS = ("columns", "columns again")
_LATENCY = ("hop", "hop again")
_CPU_BOUND = ("cpu-bound 2", "cpu-bound 2 again")
_IDLE = ("idle", "idle again")
_IDLE_FUSED = ("idle fused", "idle fused again")
_INSTANCES = ("instances 2", "instances 2 again")
_PLAN = ("plan 10000", "plan 10000 again")
#: with one bolt task no key is hashed, since that task owns them all
_HASHED = "… two spout and two bolt tasks, so that words are hashed"

WORD_FIGURES: Sequence[Figure] = (
    better("rows-bytewax", "rows, at most once, words/s ÷ Bytewax", "rate", ("rows", "bytewax"), (6, 7.5)),
    better(
        "rows-pipe", "rows ÷ plain Python with a pipe, CPU per word", "cpu", ("rows", "pipe"), (0.65, 0.75)
    ),
    better("batches-rows", "batches of rows ÷ rows, CPU per word", "cpu", ("batches", "rows"), (2.5, 3.4)),
    better("batches-rows-2", _HASHED, "cpu", ("batches 2", "rows 2"), (2.5, 3.4)),
    better(
        "columns-rows",
        "columns ÷ rows, CPU per word, through the Stream Manager",
        "cpu",
        ("columns", "rows"),
        (10, 20),
    ),
    better("columns-rows-2", _HASHED, "cpu", ("columns 2", "rows 2"), (10, 20)),
    better(
        "columns-bytewax", "columns, words/s ÷ Bytewax", "rate", ("columns", "bytewax"), (40, 80), _COLUMNS
    ),
    better(
        "columns-jet",
        "columns, fused, ÷ Jet (Core API, HASH_CODE), CPU per word",
        "cpu",
        ("columns fused", "jet"),
        (1, 3),
        _COLUMNS,
    ),
    better("columns-jet-2", _HASHED, "cpu", ("columns fused 2", "jet"), (1, 3), _COLUMNS),
    better(
        "acks-rows",
        "at least once ÷ at most once, rows, words/s",
        "rate",
        ("rows acked", "rows"),
        (0.75, 0.85),
    ),
    better("acks-rows-cpu", "… CPU per word", "cpu", ("rows acked", "rows")),
    better(
        "acks-batches",
        "at least once ÷ at most once, batches, words/s",
        "rate",
        ("batches acked", "batches"),
    ),
    better("acks-batches-cpu", "… CPU per word", "cpu", ("batches acked", "batches")),
    better(
        "acks-columns",
        "at least once ÷ at most once, columns, words/s",
        "rate",
        ("columns acked", "columns"),
        (0.9, 0.95),
        _COLUMNS,
    ),
    better("acks-columns-cpu", "… CPU per word", "cpu", ("columns acked", "columns"), twins=_COLUMNS),
    better(
        "saved-rows",
        "effectively once, 1 s checkpoints ÷ none, 100,000 keys, CPU per word: rows",
        "cpu",
        ("rows saved", "rows unsaved"),
        (0.75, 0.85),
    ),
    better("saved-batches", "… batches", "cpu", ("batches saved", "batches unsaved")),
    better(
        "saved-columns",
        "… columns",
        "cpu",
        ("columns saved", "columns unsaved"),
        (0.9, 0.95),
        _COLUMNS,
    ),
    better(
        "fused-rows",
        "fused ÷ process per task, CPU per word: rows",
        "cpu",
        ("rows fused", "rows"),
        (1.8, 2.5),
    ),
    better(
        "fused-lines",
        "… rows, fused ÷ their own lines in one process without an engine",
        "cpu",
        ("rows fused", "lines"),
    ),
    better(
        "fused-columns",
        "fused ÷ process per task, CPU per word: columns",
        "cpu",
        ("columns fused", "columns"),
        (1.3, 1.8),
        _COLUMNS,
    ),
)

PEER_FIGURES: Sequence[Figure] = (
    better("rows-storm", "rows ÷ Storm (LocalCluster, no acks), words/s", "rate", ("rows", "storm")),
    better("rows-storm-cpu", "… CPU per word", "cpu", ("rows", "storm")),
    better(
        "acked-storm", "at least once, rows ÷ Storm with acks, words/s", "rate", ("rows acked", "storm acked")
    ),
    better("rows-flink-cpu", "rows ÷ Flink (keyBy, ValueState), CPU per word", "cpu", ("rows", "flink")),
    better("rows-pathway", "rows ÷ Pathway, words/s", "rate", ("rows", "pathway")),
    better("rows-pyflink", "rows ÷ PyFlink (Python function), words/s", "rate", ("rows", "pyflink")),
    better("columns-flink-cpu", "columns ÷ Flink, CPU per word", "cpu", ("columns", "flink"), twins=_COLUMNS),
    better(
        "columns-jet-pipeline",
        "columns, fused, ÷ Jet's Pipeline API, CPU per word",
        "cpu",
        ("columns fused", "jet pipeline"),
        twins=_COLUMNS,
    ),
)

KEY_FIGURES: Sequence[Figure] = (
    *(
        better(
            f"columns-rows-{name}",
            f"columns ÷ rows, CPU per word, {title}",
            "cpu",
            (f"columns {name}", f"rows {name}"),
        )
        for name, title in (
            ("zipf", "450,000 keys by Zipf's law"),
            ("1e5", "10⁵ keys"),
            ("1e6", "10⁶ keys"),
            ("1e7", "10⁷ keys"),
        )
    ),
    better(
        "batches-rows-zipf",
        "batches ÷ rows, CPU per word, 450,000 keys by Zipf's law",
        "cpu",
        ("batches zipf", "rows zipf"),
    ),
)

LATENCY_FIGURES: Sequence[Figure] = (
    limit(
        "hop-relay",
        "hop pair at 1,000/s: p50 from when it was due ÷ the same of a bare relay",
        "due over relay",
        "hop",
        (6, 3),
        _LATENCY,
    ),
    limit(
        "hop-relay-emit",
        "… p50 from the emit ÷ a bare relay's from the send",
        "emit over relay",
        "hop",
        (6, 3),
        _LATENCY,
    ),
    shown("hop-p50", "… p50 from when it was due, microseconds", "p50", "hop", _LATENCY),
    shown("relay-p50", "… the same of the relay", "relay due p50", "hop", _LATENCY),
    limit("hop-cpu", "… CPU-microseconds per tuple", "cpu", "hop", (170, 100), _LATENCY),
    limit("hop-zmq-cpu", "… the same over ZeroMQ", "cpu", "hop zmq", (170, 100), _LATENCY),
    limit(
        "fan", "fan-out 1 → 100 tasks at 50 tuples/s, p50 ms", "p50 ms", "fan", (60, 20), ("fan", "fan again")
    ),
    limit(
        "chain",
        "chain of 30 bolts at 50 tuples/s, p50 ms",
        "p50 ms",
        "chain",
        (40, 15),
        ("chain", "chain again"),
    ),
)

RATE_FIGURES: Sequence[Figure] = tuple(
    shown(
        f"at-{share}-{measure}",
        f"at {share} % of the sustainable rate: {measure}, microseconds",
        measure,
        f"hop {share} %",
        _LATENCY,
    )
    for share in (10, 50, 80)
    for measure in ("p50", "p99", "cpu")
)

SIZE_FIGURES: Sequence[Figure] = (
    better(
        "cpu-bound-2",
        "two CPU-bound bolts ÷ one",
        "rate",
        ("cpu-bound 2", "cpu-bound 1"),
        (1.7, 1.85),
        _CPU_BOUND,
    ),
    better(
        "cpu-bound-4",
        "four CPU-bound bolts ÷ two, on two cores",
        "rate",
        ("cpu-bound 4", "cpu-bound 2"),
        (0.9, 1),
        _CPU_BOUND,
    ),
    limit("idle", "200 idle instances: per cent of a core", "core share", "idle", (10, None), _IDLE),
    shown("start", "… seconds from submit until all run", "start", "idle", _IDLE),
    limit("idle-memory", "… memory of each, MB", "memory", "idle", (9, None), _IDLE),
    limit(
        "idle-fused",
        "200 idle instances, fused: per cent of a core",
        "core share",
        "idle fused",
        (2, None),
        _IDLE_FUSED,
    ),
    limit("idle-fused-memory", "… memory of each, MB", "memory", "idle fused", (1.5, None), _IDLE_FUSED),
    better(
        "growth",
        "8 containers ÷ 2, the same 16 tasks, CPU per tuple",
        "cpu",
        ("growth 8", "growth 2"),
        (0.83, None),
        ("growth 2", "growth 2 again"),
    ),
    better(
        "growth-4",
        "4 containers ÷ 1, the same 16 tasks, CPU per tuple",
        "cpu",
        ("growth 4", "growth 1"),
        twins=("growth 2", "growth 2 again"),
    ),
    *(
        better(
            f"instances-{tasks}",
            f"{tasks} tasks ÷ 2 in one container, CPU per tuple (2 tasks hash no key)",
            "cpu",
            (f"instances {tasks}", "instances 2"),
            twins=_INSTANCES,
        )
        for tasks in (4, 8, 16)
    ),
    limit(
        "plan",
        "a plan of 10,000 tasks, KiB in the state tree",
        "physical plan, KiB",
        _PLAN[0],
        (1024, None),
        _PLAN,
    ),
    limit(
        "plan-spout", "… CPU-ms to build one spout task", "build a spout task", _PLAN[0], (50, None), _PLAN
    ),
    limit("plan-bolt", "… CPU-ms to build one bolt task", "build a bolt task", _PLAN[0], (50, None), _PLAN),
)

_TUMBLING = ("tumbling", "tumbling again")
EVENT_TIME_FIGURES: Sequence[Figure] = (
    *(
        better(
            f"q{number}-{peer}",
            f"NEXMark Q{number} on `local` ÷ {title}, CPU per event",
            "cpu",
            (f"Q{number} local", f"Q{number} {peer}"),
            (least, None),
            (f"Q{number} local", f"Q{number} local again"),
        )
        for number in (5, 7, 8)
        for peer, title, least in (("bytewax", "Bytewax", 5.0), ("beam", "Beam's direct runner", 10.0))
    ),
    better(
        "sliding",
        "sliding 30 min / 5 s ÷ tumbling 30 min, CPU per record",
        "cpu",
        ("sliding", "tumbling"),
        twins=_TUMBLING,
    ),
    better(
        "frames",
        "sliding 10 s / 100 ms by slices ÷ a copy per window, CPU per record",
        "cpu",
        ("slices", "copies"),
        (20, None),
        _TUMBLING,
    ),
    limit(
        "combines",
        "combines per key and slide, counted",
        "combines",
        "sliding",
        (3, None),
        ("sliding", "sliding"),  # the same number every time
    ),
)

FIGURES: dict[str, Sequence[Figure]] = {
    "words": WORD_FIGURES,
    "peers": PEER_FIGURES,
    "keys": KEY_FIGURES,
    "latency": LATENCY_FIGURES,
    "rates": RATE_FIGURES,
    "sizes": SIZE_FIGURES,
    "event-time": EVENT_TIME_FIGURES,
}


def chosen(only: Sequence[str]) -> list[Figure]:
    """By group, by key, or by the beginning of a key; all, where nothing is named."""
    every = [figure for group in FIGURES.values() for figure in group]
    if not only:
        return every
    found = {
        figure.key: figure
        for name in only
        for figure in FIGURES.get(name) or [each for each in every if each.key.startswith(name)]
    }
    return list(found.values())
