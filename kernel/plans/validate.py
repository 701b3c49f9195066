"""Whether a logical plan can run, and if not, which component and field is wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import get_args

from heronpy.kernel.config.topology_keys import misspelt
from heronpy.kernel.errors import TopologyError, did_you_mean
from heronpy.kernel.names import checked_name
from heronpy.kernel.plans.logical import Component, DeclaredStream, Input, LogicalPlan, Reliability

#: fields that `tup.name` cannot reach, since the tuple itself has an attribute of that name
METADATA = frozenset({"id", "component", "stream", "task", "values"})

_CLASS_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def validate(plan: LogicalPlan) -> list[str]:
    """Warnings about what will surprise; a TopologyError for what cannot run."""
    checked_name("topology", plan.name)
    if plan.reliability not in get_args(Reliability):
        msg = f"reliability is {plan.reliability!r}{did_you_mean(plan.reliability, get_args(Reliability))}"
        raise TopologyError(msg)
    _check_members(plan)
    for component in plan.components:
        _check_component(component)
    for component in plan.components:
        for edge in component.inputs:
            _check_edge(plan, component, edge)
        _check_key_groups(plan, component)
    _refuse_cycles(plan)
    warnings = [warning for component in plan.components for warning in _warnings(component)]
    return [*_misspelt(f"topology {plan.name!r}", plan.config), *warnings]


def _check_members(plan: LogicalPlan) -> None:
    twin = _first_twin(component.name for component in plan.components)
    if twin is not None:
        msg = f"topology {plan.name!r} has two components called {twin!r}"
        raise TopologyError(msg)
    if not any(component.kind == "spout" for component in plan.components):
        msg = f"topology {plan.name!r} has no spout: nothing would ever flow"
        raise TopologyError(msg)


def _check_component(component: Component) -> None:
    label = _label(component)
    checked_name(component.kind, component.name)
    if type(component.parallelism) is not int or component.parallelism < 1:
        msg = f"{label}: parallelism must be an integer of at least 1, got {component.parallelism!r}"
        raise TopologyError(msg)
    if not _CLASS_PATH.fullmatch(component.class_path):
        msg = f"{label}: {component.class_path!r} is not the path of a class"
        raise TopologyError(msg, hint="give package.module.Class, defined at the top level of its file")
    if component.kind == "spout" and component.inputs:
        msg = f"{label} has inputs, and a spout reads from no component"
        raise TopologyError(msg, hint="make it a bolt")
    if component.kind == "bolt" and not component.inputs:
        msg = f"{label} has no inputs: it would never get a tuple"
        raise TopologyError(msg, hint="add inputs={spec: Grouping.SHUFFLE}")
    twin = _first_twin(stream.name for stream in component.outputs)
    if twin is not None:
        msg = f"{label} declares the stream {twin!r} twice"
        raise TopologyError(msg)
    for stream in component.outputs:
        _check_stream(label, stream)


def _check_stream(label: str, stream: DeclaredStream) -> None:
    checked_name(f"{label}: stream", stream.name)
    twin = _first_twin(stream.fields)
    if twin is not None:
        msg = f"{label} declares the field {twin!r} of stream {stream.name!r} twice"
        raise TopologyError(msg)
    for field in stream.fields:
        if not isinstance(field, str) or not field:
            msg = f"{label}: stream {stream.name!r} has the field {field!r}, which is not a name"
            raise TopologyError(msg)


def _check_edge(plan: LogicalPlan, reader: Component, edge: Input) -> None:
    label = _label(reader)
    stream = _stream_read(plan, label, edge)
    where = f"stream {edge.stream!r} of {edge.component!r}"
    if sum((other.component, other.stream) == (edge.component, edge.stream) for other in reader.inputs) > 1:
        msg = f"{label} reads {where} twice"
        raise TopologyError(msg)
    if edge.grouping.kind == "direct" and not stream.direct:
        msg = f"{label} reads {where} with direct grouping, but the stream is not direct"
        raise TopologyError(msg, hint="declare Stream(..., direct=True)")
    if edge.grouping.kind != "direct" and stream.direct:
        msg = f"{label} reads {where} with {edge.grouping.kind} grouping, but the stream is direct"
        raise TopologyError(msg, hint="Grouping.DIRECT")
    if edge.grouping.kind == "fields" and not edge.grouping.fields:
        msg = f"{label} groups {where} by no field"
        raise TopologyError(msg, hint="Grouping.fields('name')")
    if reader.reads_columns and not stream.schema:
        msg = f"{label} has process_columns, but {where} declares no Schema"
        raise TopologyError(msg, hint=f"outputs = Schema({stream.fields[0] if stream.fields else 'field'}=…)")
    for field in edge.grouping.fields:
        if field not in stream.fields:
            close = did_you_mean(field, stream.fields)
            msg = f"{label} groups {where} by field {field!r}, which it does not have{close}"
            raise TopologyError(msg)
    if edge.grouping.kind == "custom" and not (edge.grouping.class_path or edge.grouping.pickled):
        msg = f"{label} reads {where} with a custom grouping that names no class"
        raise TopologyError(msg)


def _stream_read(plan: LogicalPlan, label: str, edge: Input) -> DeclaredStream:
    known = {component.name: component for component in plan.components}
    if edge.component not in known:
        close = did_you_mean(edge.component, known)
        msg = f"{label} reads from {edge.component!r}, which is not in the topology{close}"
        raise TopologyError(msg)
    source = known[edge.component]
    stream = source.stream(edge.stream)
    if stream is None:
        names = [output.name for output in source.outputs]
        close = did_you_mean(edge.stream, names)
        msg = f"{label} reads stream {edge.stream!r} of {_label(source)}, which does not declare it{close}"
        hint = "" if names else "declare outputs = ['field', …] in its class"
        raise TopologyError(msg, hint=hint)
    return stream


def _check_key_groups(plan: LogicalPlan, component: Component) -> None:
    by_fields = any(edge.grouping.kind == "fields" for edge in component.inputs)
    if by_fields and component.parallelism > plan.key_groups:
        msg = (
            f"{_label(component)} has parallelism {component.parallelism}, but there are only"
            f" {plan.key_groups} key groups to share"
        )
        raise TopologyError(msg, hint="set a larger topology.key.groups in the topology's config")


def _refuse_cycles(plan: LogicalPlan) -> None:
    """Walk upstream from everywhere; `path` is the way here, so meeting it again closes a cycle."""
    feeds = {component.name: [edge.component for edge in component.inputs] for component in plan.components}
    done: set[str] = set()
    for start in feeds:
        path = [start]
        waiting = [iter(feeds[start])]
        while waiting:
            following = next(waiting[-1], None)
            if following is None:
                done.add(path.pop())
                waiting.pop()
            elif following in path:
                cycle = [following, *reversed(path[path.index(following) :])]
                msg = f"the components {' -> '.join(cycle)} form a cycle, and tuples would never leave it"
                raise TopologyError(msg)
            elif following not in done:
                path.append(following)
                waiting.append(iter(feeds[following]))


def _warnings(component: Component) -> list[str]:
    warnings = [
        f'{_label(component)}: field {field!r} of stream {stream.name!r} can only be read as tup["{field}"],'
        f" since tup.{field} is the tuple's own"
        for stream in component.outputs
        for field in stream.fields
        if field in METADATA
    ]
    if component.kind == "spout" and not component.outputs:
        warnings.append(f"{_label(component)} declares no outputs, so it cannot emit")
    if component.splits and component.parallelism > len(component.splits):
        warnings.append(
            f"{_label(component)} has parallelism {component.parallelism} and {len(component.splits)} splits:"
            " some of its tasks have none"
        )
    warnings += _misspelt(_label(component), component.config)
    keys = {edge.grouping.fields for edge in component.inputs if edge.grouping.kind == "fields"}
    if len({len(key) for key in keys}) > 1:
        shown = " and ".join(f"({', '.join(key)})" for key in sorted(keys, key=len))
        warnings.append(f"{_label(component)} cannot use self.state: its inputs have different keys, {shown}")
    return warnings


def _misspelt(whose: str, config: Mapping[str, object]) -> list[str]:
    guesses = ((key, misspelt(key)) for key in config)
    return [f"{key!r} in the config of {whose} means nothing{guess}" for key, guess in guesses if guess]


def _label(component: Component) -> str:
    return f"{component.kind} {component.name!r}"


def _first_twin(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
