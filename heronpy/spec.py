"""What `Spout.spec()` and `Bolt.spec()` return: one component, not yet part of a topology."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from heronpy.arguments import require
from heronpy.column_schema import Schema
from heronpy.definition import (
    ComponentMessage,
    InputStream,
    Key,
    OutputStream,
    SpecMessage,
    StreamId,
    StreamSchema,
)
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import did_you_mean
from heronpy.stream import AnyGrouping, Grouping, GroupingType, Stream


class HeronComponentSpec:
    """A component: class, parallelism, inputs, outputs, config. May be changed until the topology is made."""

    def __init__(
        self,
        name: str | None,
        python_class_path: str,
        is_spout: bool,
        par: int,
        inputs: Any = None,
        outputs: Any = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        label = repr(name) if name else _shown(python_class_path)
        if type(par) is not int or par < 1:
            msg = f"parallelism of {label} must be an integer of at least 1, got {par!r}"
            raise DefinitionError(msg)
        require("" if name is None else name, str, f"the name of {python_class_path} must be a string")
        require({} if config is None else config, dict, f"config of {label} must be a dict")
        self.name = name
        self.python_class_path = python_class_path
        self.is_spout = is_spout
        self.parallelism = par
        self.inputs = inputs
        self.outputs = outputs
        self.custom_config = config
        self.uuid = str(uuid.uuid4())
        #: the class itself, for tests that run it here and now; instances go by the path
        self.component_class: type[Any] | None = None

    @property
    def label(self) -> str:
        """How messages call it: "bolt 'count'"."""
        kind = "spout" if self.is_spout else "bolt"
        return (
            f"{kind} {self.name!r}"
            if self.name
            else f"{kind} {self.python_class_path.removeprefix('__main__.')}"
        )

    def __getitem__(self, stream_id: str) -> GlobalStreamId:
        """One stream of this component, as a key of `inputs`."""
        known = self.get_out_streamids()
        if stream_id not in known:
            msg = f"{self.label} has no stream {stream_id!r}{did_you_mean(stream_id, known)}"
            raise DefinitionError(msg)
        return GlobalStreamId(self.name or self, stream_id)

    def get_out_streamids(self) -> set[str]:
        """Names of the streams this component emits."""
        return {stream.stream_id for stream in self.streams()}

    def streams(self) -> list[Stream]:
        """The outputs, the plain field names gathered into the default stream."""
        streams: list[Stream] = []
        default: Stream | None = None
        for output in self._outputs():
            stream = Stream([output]) if isinstance(output, str) else _stream(output)
            if stream.stream_id != Stream.DEFAULT_STREAM_ID:
                streams.append(stream)
            elif default is None:
                default = Stream(stream.schema or stream.fields, direct=stream.direct)
                streams.append(default)
            elif stream.schema or default.schema:
                msg = f"outputs of {self.label}: the Schema of the default stream must have all its fields"
                raise DefinitionError(msg, hint="give a second stream a name: Stream(Schema(…), name='…')")
            else:
                default.fields.extend(stream.fields)
        return streams

    def edges(self) -> list[tuple[GlobalStreamId, AnyGrouping]]:
        """The inputs, each a stream with its grouping; a list of inputs means shuffle."""
        inputs = {} if self.inputs is None else self.inputs
        if isinstance(inputs, dict):
            pairs: Iterable[tuple[Any, Any]] = inputs.items()
        elif isinstance(inputs, (list, tuple)):
            pairs = [(key, Grouping.SHUFFLE) for key in inputs]
        else:
            msg = f"inputs of {self.label} must be {{spec: grouping}} or a list of specs, got {inputs!r}"
            raise TypeError(msg)
        return [(self._source(key), self._grouping(key, grouping)) for key, grouping in pairs]

    def get_protobuf(self) -> SpecMessage:
        """The edges and outputs, for code that walks a topology."""
        name = self.name or ""
        return SpecMessage(
            comp=ComponentMessage(name, self.python_class_path),
            inputs=[
                InputStream(StreamId(source.stream_id, source.component_id), _gtype(grouping))
                for source, grouping in self.edges()
            ],
            outputs=[
                OutputStream(
                    StreamId(stream.stream_id, name), StreamSchema([Key(field) for field in stream.fields])
                )
                for stream in self.streams()
            ],
        )

    def _outputs(self) -> Sequence[str | Stream | Schema]:
        outputs = [] if self.outputs is None else self.outputs
        outputs = [outputs] if isinstance(outputs, Schema) else outputs
        require(outputs, (list, tuple), f"outputs of {self.label} must be a list of field names and Streams")
        for output in outputs:
            require(output, (str, Stream, Schema), f"outputs of {self.label} must be field names and Streams")
        return outputs

    def _source(self, key: object) -> GlobalStreamId:
        if isinstance(key, HeronComponentSpec):
            key = GlobalStreamId(key.name or key, Stream.DEFAULT_STREAM_ID)
        if not isinstance(key, GlobalStreamId):
            msg = f"an input of {self.label} must be a spec or one of its streams (spec['name']), got {key!r}"
            raise DefinitionError(msg, hint=f"write {key} without quotes" if isinstance(key, str) else "")
        return key

    def _grouping(self, key: object, grouping: Any) -> AnyGrouping:
        if not Grouping.is_grouping_sane(grouping):
            msg = f"{self.label} reads {key} with {grouping!r}, which is no grouping"
            raise DefinitionError(msg, hint="use Grouping.SHUFFLE or Grouping.fields('name')")
        sane: AnyGrouping = grouping
        return sane

    def __repr__(self) -> str:
        return f"<spec of {self.label}>"


class GlobalStreamId:
    """One stream of one component. Usually made by `spec["stream"]`."""

    def __init__(self, componentId: str | HeronComponentSpec, streamId: str) -> None:  # noqa: N803 - Apache's names
        require(componentId, (str, HeronComponentSpec), "componentId must be a component's name or spec")
        require(streamId, str, "streamId must be a string")
        self._component = componentId
        self.stream_id = streamId

    @property
    def component_id(self) -> str:
        """The component's name; before a class-body spec has one, something unique instead."""
        if isinstance(self._component, str):
            return self._component
        return self._component.name or f"<spec without a name yet, uuid: {self._component.uuid}>"

    @property
    def unnamed(self) -> HeronComponentSpec | None:
        """The spec, if it has no name: it was never put into a topology."""
        spec = self._component
        return spec if isinstance(spec, HeronComponentSpec) and spec.name is None else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GlobalStreamId):
            return NotImplemented
        return (self.component_id, self.stream_id) == (other.component_id, other.stream_id)

    def __hash__(self) -> int:
        # A spec may get its name after this became a dict key.
        return hash(self.stream_id)

    def __str__(self) -> str:
        return f"{self.component_id}:{self.stream_id}"


def _stream(output: Stream | Schema) -> Stream:
    return Stream(output) if isinstance(output, Schema) else output


def _gtype(grouping: AnyGrouping) -> GroupingType:
    return grouping if isinstance(grouping, GroupingType) else grouping.gtype


def class_path(cls: type[Any]) -> str:
    """Where an instance finds a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def declared_outputs(cls: type[Any], optional: Sequence[str | Stream] | None) -> Any:
    """A class's `outputs` and those given to `spec()`, in a list of their own."""
    outputs = getattr(cls, "outputs", None)
    return [*_listed(cls, outputs), *_listed(cls, optional)]


def _listed(cls: type[Any], outputs: Any) -> Sequence[Any]:
    listed: Sequence[Any] = [] if outputs is None else outputs
    if isinstance(listed, Schema):
        return [listed]
    require(listed, (list, tuple), f"outputs of {cls.__qualname__} must be a list of field names and Streams")
    return listed


def _shown(class_path: str) -> str:
    """The class as its author calls it: what the submitted file defines has no module for them."""
    return class_path.removeprefix("__main__.")
