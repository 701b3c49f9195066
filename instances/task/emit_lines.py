"""Where a component emits, for an error that is found only after emit() has returned."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap

from heronpy.kernel.errors import TupleTooLarge

#: the calls that emit
EMITS = ("emit", "emit_many", "emit_batch")


def located(error: TupleTooLarge, component: type) -> TupleTooLarge:
    """The same error with the lines of the component's code that emit.

    A batch is encoded when it is sent, which may be after the call that emitted the tuple: no frame of the
    user's is in the traceback then. Recording the line in every emit() would slow down every tuple.
    """
    places = emits_of(component, error.stream)
    if not places:
        return error
    where = places[0] if len(places) == 1 else f"one of {', '.join(places)}"
    return TupleTooLarge(error.what, f"; it was emitted at {where}")


def emits_of(component: type, stream: str = "") -> list[str]:
    """The lines, as "words.py:12", in which a component's own classes emit, maybe on this stream."""
    places = []
    for cls in component.__mro__:
        if cls.__module__.partition(".")[0] in ("heronpy", "builtins"):
            continue
        try:
            lines, first = inspect.getsourcelines(cls)
            file = os.path.basename(inspect.getsourcefile(cls) or "")
        except (OSError, TypeError):
            continue  # made without a file
        tree = ast.parse(textwrap.dedent("".join(lines)))
        calls = (node for node in ast.walk(tree) if _emits(node) and _may_be_on(node, stream))
        places += [f"{file}:{first + node.lineno - 1}" for node in calls if isinstance(node, ast.Call)]
    return list(dict.fromkeys(places))


def _may_be_on(call: ast.AST, stream: str) -> bool:
    """False only where the call names another stream, or none where one is wanted."""
    assert isinstance(call, ast.Call)
    if not stream or len(call.args) > 1 or any(each.arg is None for each in call.keywords):
        return True
    named = [each.value for each in call.keywords if each.arg == "stream"]
    if not named:
        return stream == "default"
    return not isinstance(named[0], ast.Constant) or named[0].value == stream


def _emits(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in EMITS
