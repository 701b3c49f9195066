"""Every example is a valid topology, is short, and says how it is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from heronpy.loading import load_topologies

FOLDER = Path(__file__).parent.parent.parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

#: what the file wants on its command line
ARGUMENTS = {
    "multi_stream": ["readings"],
    "streamlets": ["words"],
    "file_pipeline": ["in.txt", "out.txt"],
    "exactly_once": ["a.txt", "b.txt"],
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_is_a_valid_topology(example: Path) -> None:
    (plan,) = load_topologies(example, ARGUMENTS.get(example.stem, []))
    doc = ast.get_docstring(ast.parse(example.read_text())) or ""
    arguments = "".join(f" {word}" for word in ARGUMENTS.get(example.stem, []) if "." not in word)
    assert f"heronpy submit examples/{example.name}{arguments}" in doc
    assert f"heronpy kill {plan.name}" in doc


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_fits_on_a_screen(example: Path) -> None:
    assert len(example.read_text().splitlines()) <= 60
