"""An author of plugins imports from heronpy alone: the interfaces, what they take, return and raise."""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import heronpy
from heronpy.kernel import errors, plans
from heronpy.pipeline.graph import Graph

INTERFACES = [
    "CheckpointStore",
    "Launcher",
    "MetricSink",
    "ResourceManager",
    "Scheduler",
    "StateManager",
    "Uploader",
    "Watch",
]
#: what packing plugins make
MADE = [heronpy.PackingPlan, heronpy.ContainerPlan, heronpy.InstancePlan, heronpy.ContainerExit]
ERRORS = {name for name, value in vars(errors).items() if getattr(value, "__module__", "") == errors.__name__}


def classes_in(annotation: Any) -> Iterator[type]:
    """Every class of ours that an annotation speaks of, however deep."""
    if isinstance(annotation, type) and annotation.__module__.startswith("heronpy."):
        yield annotation
    for part in typing.get_args(annotation):
        yield from classes_in(part)


def taken_and_returned(interface: type) -> Iterator[type]:
    for name, method in inspect.getmembers(interface, callable):
        if not name.startswith("_"):
            hints = typing.get_type_hints(method, vars(sys.modules[interface.__module__]))
            for hint in hints.values():
                yield from classes_in(hint)


@pytest.mark.parametrize("name", INTERFACES)
def test_all_that_an_interface_takes_and_returns_is_importable_from_heronpy(name: str) -> None:
    interface = getattr(heronpy, name)
    found = {cls.__name__: cls for cls in taken_and_returned(interface)}
    assert {used: getattr(heronpy, used, None) for used in found} == found


@pytest.mark.parametrize("made", MADE)
def test_all_that_a_plan_is_made_of_is_importable_from_heronpy(made: type) -> None:
    hints = typing.get_type_hints(made, vars(plans))
    found = {cls.__name__: cls for hint in hints.values() for cls in classes_in(hint)}
    assert {used: getattr(heronpy, used, None) for used in found} == found


@pytest.mark.parametrize("name", INTERFACES)
def test_every_error_that_an_interface_speaks_of_is_importable_from_heronpy(name: str) -> None:
    told = inspect.getsource(getattr(heronpy, name))
    named = {word for word in re.findall(r"\b[A-Z]\w+\b", told) if word in ERRORS}
    assert named - set(heronpy.__all__) == set()


def test_a_runner_takes_steps_and_a_place_of_code_and_the_rest_is_in_heronpy() -> None:
    """`heronpy.Source` would be taken for what a pipeline reads."""
    used = vars(sys.modules["heronpy.pipeline.graph"]) | vars(sys.modules["heronpy.kernel.plugin.runner"])
    hints = typing.get_type_hints(heronpy.Runner.run, used)
    found = {cls for hint in hints.values() for cls in classes_in(hint)}
    assert found == {Graph, plans.Source, heronpy.RunTotals}
    assert issubclass(heronpy.UnsupportedOnRunner, heronpy.UserError)
