"""Hints for a topology file that cannot be loaded: a module that is not found, a misspelt name of heronpy."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import heronpy
from heronpy.bolt import Bolt
from heronpy.kernel.errors import close_to
from heronpy.spout import Spout

#: packages of other engines → what takes their place
_PORTED = "use `from heronpy import Bolt, Spout, Topology`, see docs/coming-from.md"
ELSEWHERE = {
    "heronpy": "read docs/migrating-from-heron.md for the modules of Apache Heron that exist here",
    "streamparse": f"{_PORTED}: streamparse is for Storm",
    "pystorm": f"{_PORTED}: pystorm is for Storm",
}


#: words of other engines for arguments of spec()
_ARGUMENTS = {"parallelism": "par", "num_tasks": "par", "grouping": "inputs", "fields": "optional_outputs"}

_UNKNOWN_ARGUMENT = re.compile(r"\.spec\(\) got an unexpected keyword argument '(\w+)'")
_MADE_BY_HAND = re.compile(r"__init__\(\) got an unexpected keyword argument '(name|par|inputs|config)'")
_UNKNOWN_IMPORT = re.compile(r"cannot import name '(\w+)' from 'heronpy'")


def remedy(error: BaseException, file: str) -> str:
    """What to type instead; empty where the message of Python is all that is known."""
    if isinstance(error, ModuleNotFoundError):
        return _missing_module(error.name or "", file)
    if isinstance(error, ImportError) and (found := _UNKNOWN_IMPORT.match(str(error))):
        return close_to(found[1], heronpy.__all__)
    if isinstance(error, TypeError) and (found := _UNKNOWN_ARGUMENT.search(str(error))):
        return _argument_of_spec(found[1])
    if isinstance(error, TypeError) and (found := _MADE_BY_HAND.search(str(error))):
        return f"use CLASS.spec({found[1]}=…): the engine constructs the component itself"
    if isinstance(error, AttributeError) and error.name and _is_ours(error.obj):
        return close_to(error.name, [name for name in dir(error.obj) if not name.startswith("_")])
    return ""


def _missing_module(name: str, file: str) -> str:
    """A script sees its own folder and PYTHONPATH, not the folder it is started from, nor those above it."""
    if not name:
        return ""
    for package, instead in ELSEWHERE.items():
        if name == package or name.startswith(f"{package}."):
            return instead
    top = name.split(".")[0]
    for folder in (Path(), *Path(file).parents):
        if (folder / top).is_dir() or (folder / f"{top}.py").is_file():
            return f"PYTHONPATH={folder} heronpy submit …"
    return f"PYTHONPATH=FOLDER heronpy submit …, with the folder that has {top}, or pip install its package"


def _argument_of_spec(name: str) -> str:
    known = [each for kind in (Spout, Bolt) for each in inspect.signature(kind.spec).parameters]
    meant = _ARGUMENTS.get(name) or close_to(name, known)
    return f"{meant}=…" if meant else f"use one of {', '.join(dict.fromkeys(known))}"


def _is_ours(thing: object) -> bool:
    """Whether it is a class or module of heronpy itself, not a user's."""
    if isinstance(thing, ModuleType):
        return thing.__name__.split(".")[0] == "heronpy"
    return isinstance(thing, type) and thing.__module__.split(".")[0] == "heronpy"
