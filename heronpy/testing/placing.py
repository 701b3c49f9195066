"""From what a test names to a plan whose tasks all have a place, and a way to find their classes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from heronpy.kernel.plans import (
    ContainerPlan,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    Source,
    physical_plan,
)
from heronpy.kernel.plans.validate import validate
from heronpy.loading.user_module import find_class, resolve_class
from heronpy.logical_plan import to_logical_plan
from heronpy.submissions import submissions
from heronpy.topology import Topology, TopologyBuilder

Testable = type[Topology] | TopologyBuilder | LogicalPlan
Finder = Callable[[str], type[Any]]


def placed(topology: Testable, containers: int) -> tuple[PhysicalPlan, Finder]:
    """The checked plan, its tasks dealt to the containers in turn; and what finds their classes."""
    if isinstance(topology, TopologyBuilder):
        topology = topology.build()
    if isinstance(topology, LogicalPlan):
        logical, known = topology, {}
    else:
        logical = to_logical_plan(topology, Source())
        known = {spec.python_class_path: spec.component_class for spec in topology._heron_specs}
    validate(logical)

    def find(path: str) -> type[Any]:
        # A class that is at hand need not be importable: tests define theirs anywhere.
        if (cls := known.get(path)) is not None:
            return cls
        if not logical.source.file:
            return find_class(path)
        with _undisturbed():
            return resolve_class(logical.source, path)

    return physical_plan(logical, _packed(logical, containers)), find


def _packed(logical: LogicalPlan, containers: int) -> PackingPlan:
    labels = [(one.name, index) for one in logical.components for index in range(one.parallelism)]
    instances = [InstancePlan(task, name, index) for task, (name, index) in enumerate(labels, 1)]
    if not 1 <= containers <= len(instances):
        msg = f"{len(instances)} tasks cannot be spread over {containers} containers"
        raise ValueError(msg)
    return PackingPlan(
        logical.name,
        "testing",
        tuple(
            ContainerPlan(number + 1, tuple(instances[number::containers]), Resources())
            for number in range(containers)
        ),
        next_task=len(instances) + 1,
    )


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Importing a submitted file makes a process an instance; ours goes on with other tests."""
    argv, ignored = sys.argv, submissions.ignored
    try:
        yield
    finally:
        sys.argv, submissions.ignored = argv, ignored
