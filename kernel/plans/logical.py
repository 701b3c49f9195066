"""What the user wrote: components, streams and groupings."""

from __future__ import annotations

from functools import cached_property
from posixpath import join
from typing import Any, Literal

import msgspec

from heronpy.kernel.formats import NODE

GroupingKind = Literal["shuffle", "fields", "all", "global", "none", "direct", "custom", "local_or_shuffle"]
Reliability = Literal["at_most_once", "at_least_once", "effectively_once"]

DEFAULT_KEY_GROUPS = 256


class DeclaredStream(msgspec.Struct, frozen=True):
    """One declared output of a component."""

    name: str
    fields: tuple[str, ...]
    direct: bool = False
    #: of a stream of columns: their names and Arrow types, as Arrow encodes a schema
    schema: bytes = b""


class DeclaredGrouping(msgspec.Struct, frozen=True):
    """How the tuples of one stream are spread over the tasks of a consumer."""

    kind: GroupingKind
    #: the key, for kind "fields"
    fields: tuple[str, ...] = ()
    #: dotted path of an ICustomGrouping class, for kind "custom"
    class_path: str = ""
    #: or a cloudpickled ICustomGrouping object; opened in instances only
    pickled: bytes = b""


class Input(msgspec.Struct, frozen=True):
    """One edge of the graph, seen from the consumer."""

    component: str
    stream: str
    grouping: DeclaredGrouping


class StateShape(msgspec.Struct, frozen=True):
    """What a step of a pipeline keeps for each key, as far as it is known when the file is loaded."""

    #: "class Seller", "aggregate sum"
    kind: str
    #: name → type, of a class that declares its fields
    fields: dict[str, str] = {}
    #: fields that have a default
    defaults: tuple[str, ...] = ()
    #: whether a saved object has its fields in their order, and not by name
    ordered: bool = False


class Component(msgspec.Struct, frozen=True):
    """A spout or a bolt."""

    name: str
    kind: Literal["spout", "bolt"]
    #: module and class; the module "__main__" stands for the submitted file
    class_path: str
    parallelism: int
    inputs: tuple[Input, ...] = ()
    outputs: tuple[DeclaredStream, ...] = ()
    #: values that JSON can hold, with their types kept
    config: dict[str, Any] = {}
    #: cloudpickled values that it cannot; opened in instances only
    opaque_config: dict[str, bytes] = {}
    #: names of the parts of a spout's source, spread over its tasks; their order never changes
    splits: tuple[str, ...] = ()
    #: whether its class wants a state for each task, though its tuples may come by key
    state_by_task: bool = False
    #: whether its class puts objects of its own into the checkpoint store
    keeps_objects: bool = False
    #: whether its class has on_watermark()
    hears_watermarks: bool = False
    #: step → what it keeps, of a stage of a pipeline
    shapes: dict[str, StateShape] = {}
    #: whether its class takes record batches
    reads_columns: bool = False

    @property
    def by_fields(self) -> bool:
        """Whether keys decide which of its tasks gets a tuple."""
        return any(edge.grouping.kind == "fields" for edge in self.inputs)

    @property
    def state_by_keys(self) -> bool:
        """Whether what its tasks keep, if they keep anything, moves with keys or splits."""
        return bool(self.splits) or (self.by_fields and not self.state_by_task)

    def stream(self, name: str) -> DeclaredStream | None:
        return next((stream for stream in self.outputs if stream.name == name), None)


class Source(msgspec.Struct, frozen=True):
    """Where an instance finds the user's code."""

    #: absolute path of the submitted file; of shipped code, its path in the package
    file: str = ""
    #: sys.argv as the file saw it when it was submitted
    argv: tuple[str, ...] = ()
    #: folders to put on sys.path: the file's own, then the submitter's PYTHONPATH
    paths: tuple[str, ...] = ()

    def below(self, folder: str) -> Source:
        """With its relative paths, those of shipped code, taken from this folder."""
        paths = tuple(join(folder, path) for path in self.paths)
        return msgspec.structs.replace(self, file=join(folder, self.file), paths=paths)


class LogicalPlan(msgspec.Struct, frozen=True, dict=True):
    """A topology as submitted. Its epoch is raised by every change of parallelism."""

    name: str
    components: tuple[Component, ...]
    config: dict[str, Any] = {}
    opaque_config: dict[str, bytes] = {}
    reliability: Reliability = "at_most_once"
    key_groups: int = DEFAULT_KEY_GROUPS
    source: Source = Source()
    epoch: int = 1

    @cached_property
    def _by_name(self) -> dict[str, Component]:
        return {component.name: component for component in self.components}

    def component(self, name: str) -> Component:
        return self._by_name[name]

    @cached_property
    def timed(self) -> frozenset[str]:
        """The components that watermarks go through: those that hear them, and all upstream of those."""
        found: set[str] = set()
        waiting = [component for component in self.components if component.hears_watermarks]
        while waiting:
            component = waiting.pop()
            if component.name not in found:
                found.add(component.name)
                waiting.extend(self._by_name[edge.component] for edge in component.inputs)
        return frozenset(found)

    def parallelism(self) -> dict[str, int]:
        return {component.name: component.parallelism for component in self.components}

    def consumers(self, component: str, stream: str) -> list[tuple[Component, Input]]:
        """The components that read a stream, each with its edge."""
        return [
            (consumer, edge)
            for consumer in self.components
            for edge in consumer.inputs
            if edge.component == component and edge.stream == stream
        ]

    def upstream_first(self) -> list[str]:
        """The components, each behind all that it reads from, else as they were declared."""
        order: list[str] = []
        waiting = list(self.components)
        while waiting:
            following = next(
                component
                for component in waiting
                if all(edge.component in order for edge in component.inputs)
            )
            waiting.remove(following)
            order.append(following.name)
        return order

    def to_json(self) -> bytes:
        return NODE.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> LogicalPlan:
        return NODE.decode(data, cls, "the definition of a topology")
