"""Imports the submitted file in an instance, where nothing it submits counts."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from heronpy.kernel.errors import TopologyError, did_you_mean
from heronpy.kernel.plans import Source
from heronpy.submissions import submissions

#: the module name that stands for the submitted file in a class path
MAIN = "__main__"

#: beginning of the names that submitted files have as modules
_FILE = "heron_topology_file_"
_NO_LETTER = re.compile(r"\W")

_imported: dict[str, ModuleType] = {}


def import_user_module(source: Source) -> ModuleType:
    """The submitted file as a module of its own name, run once per process with the arguments it had."""
    prepare_process(source)
    if source.file not in _imported:
        _imported[source.file] = _run(source.file)
    return _imported[source.file]


def prepare_process(source: Source) -> None:
    """Make the user's folders importable, and submitting a no-op."""
    submissions.ignore()
    if source.argv:
        sys.argv = list(source.argv)
    put_paths_first(source)


def put_paths_first(source: Source) -> None:
    """The user's folders go before everything else on sys.path."""
    wanted = list(dict.fromkeys(source.paths))
    if sys.path[: len(wanted)] != wanted:
        sys.path[:] = [*wanted, *(path for path in sys.path if path not in wanted)]


def resolve_class(source: Source, class_path: str) -> type[Any]:
    """The class at a dotted path; the module `__main__` is the submitted file.

    The stages of a pipeline are classes of heronpy's that run functions of the submitted file.
    """
    if class_path.startswith(f"{MAIN}."):
        return attribute_of(import_user_module(source), class_path.removeprefix(f"{MAIN}."), class_path)
    prepare_process(source)
    found = find_class(class_path)
    if getattr(found, "runs_steps", False):
        import_user_module(source)
    return found


def find_class(class_path: str) -> type[Any]:
    """The class at a dotted path, in this process as it is."""
    module_name, _, class_name = class_path.rpartition(".")
    while module_name:
        if _exists(module_name):
            return attribute_of(importlib.import_module(module_name), class_name, class_path)
        module_name, _, outer = module_name.rpartition(".")
        class_name = f"{outer}.{class_name}"
    msg = f"no module for class {class_path!r}"
    raise TopologyError(msg, hint="put its folder on PYTHONPATH when you submit")


class _EarlierName(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the submitted file under the name that it had when objects of its classes were saved."""

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        found = fullname.startswith(_FILE) and _imported
        return importlib.machinery.ModuleSpec(fullname, self) if found else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:  # noqa: ARG002
        return next(reversed(_imported.values()))

    def exec_module(self, module: ModuleType) -> None:
        """It has been run under its own name."""


sys.meta_path.append(_EarlierName())


def _run(file: str) -> ModuleType:
    name = _FILE + _NO_LETTER.sub("_", Path(file).stem)
    # The loader is named so that a file without the suffix .py can be a topology too.
    loader = importlib.machinery.SourceFileLoader(name, file)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _exists(module_name: str) -> bool:
    """Whether the module is there; one that is there but fails to import must say so itself."""
    try:
        return importlib.util.find_spec(module_name) is not None
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            return False
        raise
    except ValueError:
        return module_name in sys.modules


def attribute_of(module: ModuleType, qualname: str, class_path: str) -> type[Any]:
    """The class with this qualified name in a module."""
    found: Any = module
    for part in qualname.split("."):
        if not hasattr(found, part):
            classes = [name for name, value in vars(found).items() if isinstance(value, type)]
            msg = f"no class {class_path!r}: {module.__file__} has no {part!r}{did_you_mean(part, classes)}"
            raise TopologyError(msg)
        found = getattr(found, part)
    if not isinstance(found, type):
        msg = f"{class_path!r} is not a class but {found!r}"
        raise TopologyError(msg)
    return found
