"""Small random pipelines in event time: what merges, keys, windows, joins and side outputs they have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from hypothesis import strategies as st

from heronpy.connectors.collected import CollectedSink
from heronpy.pipeline import (
    Context,
    Pipeline,
    Result,
    Stream,
    Tag,
    sessions,
    sinks,
    sliding,
    sources,
    tumbling,
)

#: second and number
Timed: TypeAlias = tuple[int, int]

SOURCES = ("left", "right")
WINDOWS = {"tumbling": tumbling("10s"), "sliding": sliding("20s", every="5s"), "sessions": sessions("7s")}
ODD: Tag[Timed] = Tag("odd")


class Node(NamedTuple):
    """A part of the pipeline; it reads streams by their numbers, of which the first two are the sources."""

    kind: str
    reads: tuple[int, int]
    windows: str
    keys: int
    par: int


@st.composite
def shapes(draw: st.DrawFn) -> list[Node]:
    """One to five nodes; each reads any two of the streams before it, or the first of those alone."""
    nodes: list[Node] = []
    streams = len(SOURCES)
    for _ in range(draw(st.integers(1, 5))):
        earlier = st.integers(0, streams - 1)
        kind = draw(st.sampled_from(["window", "merge", "join", "split"]))
        windows, keys = draw(st.sampled_from(sorted(WINDOWS))), draw(st.integers(1, 4))
        nodes.append(Node(kind, (draw(earlier), draw(earlier)), windows, keys, draw(st.integers(1, 3))))
        streams += 2 if kind == "split" else 1
    return nodes


class RandomPipeline:
    """The pipeline of a shape, with a sink behind each source and node."""

    def __init__(self, shape: list[Node], records: dict[str, list[Timed]]) -> None:
        self.pipeline = Pipeline("random")
        #: steps with tasks of their own, and those of them that have windows
        self.steps: list[str] = list(SOURCES)
        self.windowed: list[str] = []
        self.sinks: dict[str, CollectedSink[Any]] = {}
        self._streams: list[Stream[Timed]] = [
            self.pipeline.read(sources.items(records[name]), name=name).event_time(
                lambda record: record[0], unit="s", lag="5s", name=f"{name}.time"
            )
            for name in SOURCES
        ]
        for name, stream in zip(SOURCES, self._streams, strict=True):
            self._write(name, stream)  # a source that nothing reads is no part of the plan
        for number, node in enumerate(shape):
            self._add(f"{node.kind}{number}", node)

    def _add(self, name: str, node: Node) -> None:
        first, second = (self._streams[number] for number in node.reads)
        keys = node.keys
        keyed = first.key_by(lambda record: record[1] % keys, name=f"{name}.key")
        match node.kind:
            case "merge":
                self._streams.append(first.merge(second, name=name))
                self._write(name, self._streams[-1])
            case "window":
                summed = keyed.window(WINDOWS[node.windows]).sum(_number, name=name, par=node.par)
                self._with_windows(name, summed.map(_summed, name=f"{name}.shown"))
            case "join":
                other = second.key_by(lambda record: record[1] % keys, name=f"{name}.other")
                pairs = keyed.window(WINDOWS[node.windows]).join(other, name=name)
                self._with_windows(name, pairs.map(_joined, name=f"{name}.shown"))
            case "split":
                rest = keyed.process(list, _split, name=name, par=node.par)
                self.steps.append(name)
                self._streams += [rest, rest[ODD]]
                self._write(name, rest)
                self._write(f"{name}.odd", rest[ODD])

    def _with_windows(self, name: str, shown: Stream[tuple[Any, ...]]) -> None:
        self.steps.append(name)
        self.windowed.append(name)
        self._write(name, shown)
        self._streams.append(shown.map(_again, name=f"{name}.again"))

    def _write(self, name: str, stream: Stream[Any]) -> None:
        sink = self.sinks[f"{name}.out"] = sinks.collected()
        stream.write(sink, name=f"{name}.out")


def _number(record: Timed) -> int:
    return record[1]


def _summed(result: Result[int, int]) -> tuple[Any, ...]:
    return (result.value, *_place(result))


def _joined(result: Result[int, tuple[Timed, Timed]]) -> tuple[Any, ...]:
    left, right = result.value
    return (7 * left[1] + right[1], *_place(result))


def _place(result: Result[int, Any]) -> tuple[Any, ...]:
    return result.key, result.window.start, result.window.end, result.pane.timing, result.pane.index


def _again(shown: tuple[Any, ...]) -> Timed:
    """A record for the next window, at the time of the result."""
    return 0, shown[0] % 101


def _split(state: list[int], record: Timed, context: Context[int]) -> Iterator[Timed]:
    if record[1] % 2:
        context.side(ODD, record)
    else:
        yield record
