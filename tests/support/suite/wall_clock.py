"""Finds where Python source reads the time of day."""

from __future__ import annotations

import ast
from collections.abc import Iterator

READS = {
    "time.time",
    "time.time_ns",
    "time.clock_gettime",
    "time.clock_gettime_ns",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "uuid.uuid1",
}
#: what reads the time of day unless it is given as many arguments
CONVERSIONS = {
    "time.localtime": 1,
    "time.gmtime": 1,
    "time.ctime": 1,
    "time.asctime": 1,
    "time.strftime": 2,
}
MODULE = "(module)"


def wall_clock_reads(source: str) -> set[str]:
    """The functions, by qualified name, that read the time of day or hand the whole module `time` on."""
    tree = ast.parse(source)
    return set(_reads(tree, _imported(tree), ()))


def _imported(tree: ast.AST) -> dict[str, str]:
    """Local name → what it stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update((one.asname or one.name, one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)
    return names


def _reads(node: ast.AST, names: dict[str, str], inside: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside = (*inside, node.name)
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):
        path = _path(node.func, names)
        if path in CONVERSIONS and len(node.args) >= CONVERSIONS[path]:
            children.remove(node.func)
    elif isinstance(node, ast.Name | ast.Attribute):
        path = _path(node, names)
        if path in READS or path in CONVERSIONS or path == "time":
            yield ".".join(inside) or MODULE
        if path:
            return  # the parts of a dotted name are no uses of their own
    for child in children:
        yield from _reads(child, names, inside)


def _path(node: ast.AST, names: dict[str, str]) -> str:
    """The dotted name behind an expression, as far as imports tell it."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        above = _path(node.value, names)
        return f"{above}.{node.attr}" if above else ""
    return ""
