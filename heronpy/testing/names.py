"""Finds what a test names in a topology, or says what it may have meant."""

from __future__ import annotations

from heronpy.kernel.errors import TopologyError, did_you_mean
from heronpy.kernel.plans import Component, DeclaredStream, Input, LogicalPlan


def component_called(logical: LogicalPlan, name: str, index: int | None = None) -> Component:
    """The component of this name; if an index is given, it has a task of that index."""
    known = {component.name: component for component in logical.components}
    if name not in known:
        msg = f"no component {name!r} in topology {logical.name!r}{did_you_mean(name, known)}"
        raise TopologyError(msg)
    component = known[name]
    if index is not None and not 0 <= index < component.parallelism:
        msg = f"no task {name}[{index}]: {name!r} has tasks 0 to {component.parallelism - 1}"
        raise TopologyError(msg)
    return component


def stream_called(component: Component, name: str) -> DeclaredStream:
    stream = component.stream(name)
    if stream is None:
        known = [output.name for output in component.outputs]
        msg = f"{component.name!r} does not declare stream {name!r}{did_you_mean(name, known)}"
        raise TopologyError(msg)
    return stream


def input_from(bolt: Component, source: str | None, stream: str) -> Input:
    """The input of a bolt that a tuple would come over."""
    fitting = [edge for edge in bolt.inputs if edge.stream == stream and source in (None, edge.component)]
    if len(fitting) == 1:
        return fitting[0]
    inputs = ", ".join(f"{edge.component}:{edge.stream}" for edge in bolt.inputs) or "none: it is a spout"
    which = f"{source}:{stream}" if source else f"stream {stream!r} of one component"
    msg = f"{bolt.name!r} does not read {which} (its inputs: {inputs})"
    raise TopologyError(msg, hint="send(…, source=…, stream=…)")
