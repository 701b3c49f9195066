"""docs/steps.md lists every step that the source announces, and no other; and each can be provoked."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from typing import get_args

from support.faults.provocations import AREAS, documented

from heronpy.instances.saving.state import state_saver
from heronpy.kernel.tree.update import Phase

ROOT = Path(__file__).parents[3]
PACKAGES = ("kernel", "instances", "container", "stream_manager", "plugins", "cli", "heronpy")


def calls(names: set[str]) -> list[ast.expr]:
    """The first argument of every call of a function or method that is called so."""
    found = []
    for path in itertools.chain.from_iterable((ROOT / each).rglob("*.py") for each in PACKAGES):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and len(node.args) == 1:
                called = node.func
                name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
                if name in names:
                    found.append(node.args[0])
    return found


def announced() -> set[str]:
    """As the source has them; of names that are put together, all that can come of it."""
    given = calls({"step", "_tell"})
    literal = {str(one.value) for one in given if isinstance(one, ast.Constant)}
    parts = {
        "phase": [phase for phase in get_args(Phase) if phase != "proposed"],
        "_STEPS[self.kind]": list(state_saver._STEPS.values()),
        "name": [name for name in literal if "." not in name],
    }
    names = {name for name in literal if "." in name}
    for one in given:
        if isinstance(one, ast.JoinedStr):
            choices = [
                [str(value.value)] if isinstance(value, ast.Constant) else parts[ast.unparse(value.value)]
                for value in one.values
                if isinstance(value, ast.Constant | ast.FormattedValue)
            ]
            names |= {"".join(chosen) for chosen in itertools.product(*choices)}
    return names


def test_the_list_of_steps_is_the_sources() -> None:
    assert announced() == set(documented())


def test_every_step_is_provoked_once() -> None:
    provoked = [name for area in AREAS for name in area]
    assert sorted(provoked) == sorted(documented())
