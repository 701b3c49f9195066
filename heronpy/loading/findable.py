"""Checks at submit that an instance will find every class, and can run it."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from heronpy.bolt import BasicBolt, Bolt, takes_origin
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import Component, LogicalPlan
from heronpy.loading.user_module import MAIN, attribute_of, find_class
from heronpy.pipeline.pipeline import Pipeline
from heronpy.spout import Spout

#: kind → the methods that the engine calls, and with what
CALLED_WITH: dict[str, dict[str, tuple[str, ...]]] = {
    "spout": {"initialize": ("config", "context"), "next_tuple": (), "ack": ("tup_id",), "fail": ("tup_id",)},
    "bolt": {"initialize": ("config", "context"), "process": ("tup",), "process_tick": ("tup",)},
}
#: the methods of bolts that take all rows of a batch at once, and what they call them
TAKE_ALL = {"process_rows": "rows", "process_columns": "batch"}


def check_findable(plan: LogicalPlan, module: ModuleType) -> None:
    """Raise for the first component whose class no instance would find. `module` is the file as it ran."""
    guarded = _guarded_classes(plan.source.file)
    for component in plan.components:
        _refuse_hidden(component, guarded, os.path.basename(plan.source.file))
        cls = class_of(component, module)
        _check_methods(component, cls)
        if plan.reliability == "at_least_once":
            _check_acks(component, cls)


def class_of(component: Component, module: ModuleType) -> type[Any]:
    """A component's class in the process that loads the file."""
    if component.class_path.startswith(f"{MAIN}."):
        return attribute_of(module, component.class_path.removeprefix(f"{MAIN}."), component.class_path)
    return find_class(component.class_path)


def _refuse_hidden(component: Component, guarded: set[str], file: str) -> None:
    label = f"{component.kind} {component.name!r}"
    module, _, qualname = component.class_path.partition(".")
    if "<locals>" in component.class_path:
        msg = f"{label}: its class {qualname} is defined inside a function, where no instance can find it"
        raise DefinitionError(msg, hint="move the class to the top level of the file")
    if module == MAIN and qualname.split(".")[0] in guarded:
        msg = f'{label}: its class {qualname} is under `if __name__ == "__main__"`, which instances skip'
        raise DefinitionError(msg, hint=f"move the class to the top level of {file}")


def _check_methods(component: Component, cls: type[Any]) -> None:
    label = f"{component.kind} {component.name!r}"
    if component.kind == "spout":
        lacks = getattr(cls, "next_tuple", Spout.next_tuple) is Spout.next_tuple
        method = "next_tuple()"
    else:
        others = any(hasattr(cls, name) for name in ("process_batch", *TAKE_ALL))
        lacks = getattr(cls, "process", Bolt.process) is Bolt.process and not others
        method = "process(tup)"
    if lacks:
        msg = f"{label}: its class {cls.__qualname__} must define {method}"
        raise DefinitionError(msg)
    for name, arguments in CALLED_WITH[component.kind].items():
        if not _takes(cls, name, len(arguments)):
            msg = f"{label}: {cls.__qualname__}.{name} does not take what it is called with"
            raise DefinitionError(msg, hint=f"define it as {name}({', '.join(['self', *arguments])})")
    for name, argument in TAKE_ALL.items():
        if not _takes(cls, name, 1) and not _takes(cls, name, 2):
            msg = f"{label}: {cls.__qualname__}.{name} does not take what it is called with"
            raise DefinitionError(msg, hint=f"define it as {name}(self, {argument}, origin)")


def _check_acks(component: Component, cls: type[Any]) -> None:
    """A bolt that has to ack what it gets needs something to ack."""
    for name, argument in TAKE_ALL.items():
        method = getattr(cls, name, None)
        if method and not issubclass(cls, BasicBolt) and not takes_origin(method):
            msg = f"bolt {component.name!r}: {cls.__qualname__}.{name}({argument}) cannot ack its batches"
            raise DefinitionError(msg, hint=f"{name}(self, {argument}, origin), or a BasicBolt")


def _takes(cls: type[Any], name: str, arguments: int) -> bool:
    method = inspect.getattr_static(cls, name, None)
    if not inspect.isfunction(method):
        # not there, or something of the user's own making: it will show
        return True
    try:
        inspect.signature(method).bind(*[None] * (1 + arguments))
    except TypeError:
        return False
    return True


def check_made_by_tasks(made_at: Mapping[Pipeline, int], file: str) -> None:
    """Raise for the first pipeline that no task would make, because it skips the lines that make it."""
    for statement in ast.parse(Path(file).read_bytes()).body:
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        for pipeline, line in made_at.items():
            if line in lines and _is_guard(statement) and not pipeline.by_value:
                label = f"the pipeline {pipeline.name!r}"
                msg = f'{label} is made under `if __name__ == "__main__"`, which tasks skip'
                raise DefinitionError(msg, hint=f"make it at the top level of {os.path.basename(file)}")


def _is_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _guarded_classes(file: str) -> set[str]:
    """Classes that only exist when the file is run as a script."""
    guarded: set[str] = set()
    free: set[str] = set()
    for statement in ast.parse(Path(file).read_bytes()).body:
        is_guard = _is_guard(statement)
        for node in ast.walk(statement):
            if isinstance(node, ast.ClassDef):
                (guarded if is_guard else free).add(node.name)
    return guarded - free
