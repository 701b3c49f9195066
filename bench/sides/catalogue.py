"""Every side by its name, as the figures ask for it."""

from __future__ import annotations

from bench.sides import Side
from bench.sides.event_time_sides import FEW_EVENTS, LocalQuery, PeerQuery, Windowed
from bench.sides.latency_sides import Latency
from bench.sides.size_sides import Counted, Idle, LargePlan
from bench.sides.word_sides import HeronpyWords, PeerWords

_BATCHES = ("--unit", "batches")
_COLUMNS = ("--unit", "columns")
_ACKED = ("--guarantee", "at_least_once")
_SAVED = ("--guarantee", "effectively_once", "--set", "checkpoint.interval=1s")
_UNSAVED = ("--guarantee", "effectively_once", "--set", "checkpoint.interval=1h")
_FUSED = ("--fuse", "container")
_TWO = ("--tasks", "2")
_UNIX = "transport.local=unix"


def _word_sides() -> list[Side]:
    return [
        HeronpyWords("rows"),
        HeronpyWords("rows acked", *_ACKED),
        HeronpyWords("batches", *_BATCHES),
        HeronpyWords("batches acked", *_BATCHES, *_ACKED),
        HeronpyWords("rows saved", *_SAVED, keys=100_000),
        HeronpyWords("rows unsaved", *_UNSAVED, keys=100_000),
        HeronpyWords("batches saved", *_BATCHES, *_SAVED, keys=100_000),
        HeronpyWords("batches unsaved", *_BATCHES, *_UNSAVED, keys=100_000),
        HeronpyWords("rows fused", *_FUSED),
        HeronpyWords("rows 2", *_TWO),
        HeronpyWords("batches 2", *_BATCHES, *_TWO),
        HeronpyWords("rows again"),
        HeronpyWords("columns", *_COLUMNS),
        HeronpyWords("columns acked", *_COLUMNS, *_ACKED),
        HeronpyWords("columns saved", *_COLUMNS, *_SAVED, keys=100_000),
        HeronpyWords("columns unsaved", *_COLUMNS, *_UNSAVED, keys=100_000),
        HeronpyWords("columns fused", *_COLUMNS, *_FUSED),
        HeronpyWords("columns 2", *_COLUMNS, *_TWO),
        HeronpyWords("columns fused 2", *_COLUMNS, *_FUSED, *_TWO),
        HeronpyWords("columns again", *_COLUMNS),
        HeronpyWords("rows zipf", "--zipf"),
        HeronpyWords("batches zipf", *_BATCHES, "--zipf"),
        HeronpyWords("columns zipf", *_COLUMNS, "--zipf"),
        *(HeronpyWords(f"rows 1e{power}", keys=10**power) for power in (5, 6, 7)),
        *(HeronpyWords(f"columns 1e{power}", *_COLUMNS, keys=10**power) for power in (5, 6, 7)),
    ]


def _peer_sides() -> list[Side]:
    return [
        PeerWords("pipe", "pipe", "pipe_words.py", (1_000_000, 3_000_000)),
        PeerWords("lines", "pipe", "lines_words.py", (1_000_000, 3_000_000)),
        PeerWords("bytewax", "bytewax", "bytewax_words.py", (600_000, 900_000)),
        PeerWords("pathway", "pathway", "pathway_words.py", (200_000, 600_000)),
        PeerWords("pyflink", "pyflink", "pyflink_words.py", (2_000, 22_000)),
        PeerWords("jet", "jet", "JetWords.java", (0, 6_000_000), "core"),
        PeerWords("jet pipeline", "jet", "JetWords.java", (0, 3_000_000), "pipeline"),
        PeerWords("flink", "flink", "FlinkWords.java", (2_000_000, 8_000_000)),
        PeerWords("storm", "storm", "StormWords.java", (1_000_000, 4_000_000)),
        PeerWords("storm acked", "storm", "StormWords.java", (1_000_000, 3_000_000), "acked"),
    ]


def _latency_sides() -> list[Side]:
    return [
        Latency("hop", "hop", 1000, _UNIX, relay=True),
        Latency("hop zmq", "hop", 1000, "transport.local=zmq", relay=True),
        Latency("hop again", "hop", 1000, _UNIX, relay=True),
        *(Latency(f"hop {share} %", "hop", 0, _UNIX, share=share / 100) for share in (10, 50, 80)),
        Latency("fan", "fan", 50, _UNIX),
        Latency("chain", "chain", 50, _UNIX),
        Latency("fan again", "fan", 50, _UNIX),
        Latency("chain again", "chain", 50, _UNIX),
    ]


def _size_sides() -> list[Side]:
    return [
        *(Counted(f"cpu-bound {bolts}", "cpu_bound.py", str(bolts)) for bolts in (1, 2, 4)),
        Counted("cpu-bound 2 again", "cpu_bound.py", "2"),
        *(Counted(f"growth {containers}", "growth.py", str(containers)) for containers in (1, 2, 4, 8)),
        Counted("growth 2 again", "growth.py", "2"),
        *(Counted(f"instances {tasks}", "growth.py", "1", str(tasks)) for tasks in (2, 4, 8, 16)),
        Counted("instances 2 again", "growth.py", "1", "2"),
        Idle("idle", 200),
        Idle("idle fused", 200, "topology.fuse=container"),
        Idle("idle again", 200),
        Idle("idle fused again", 200, "topology.fuse=container"),
        LargePlan("plan 10000", 10_000),
        LargePlan("plan 10000 again", 10_000),
    ]


def _event_time_sides() -> list[Side]:
    queries = ("Q5", "Q7", "Q8")
    return [
        *(LocalQuery(f"{query} local{again}", query) for query in queries for again in ("", " again")),
        *(PeerQuery(f"{query} bytewax", "bytewax", query) for query in queries),
        *(PeerQuery(f"{query} beam", "beam", query, FEW_EVENTS) for query in queries),
        *(Windowed(form, form) for form in ("tumbling", "sliding", "slices", "copies")),
        Windowed("tumbling again", "tumbling"),
    ]


def sides() -> dict[str, Side]:
    """All that figures may name."""
    every = [*_peer_sides(), *_word_sides(), *_latency_sides(), *_size_sides(), *_event_time_sides()]
    return {side.name: side for side in every}


def word_sides() -> list[str]:
    """Those that count words: what a word costs may be compared among all of them."""
    return [name for name, side in sides().items() if isinstance(side, HeronpyWords | PeerWords)]
