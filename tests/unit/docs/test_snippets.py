"""Python in the documents runs: topologies are validated, pipelines planned, tests in them pass."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from heronpy.loading import load_topologies
from heronpy.loading.exchange import ExplainRequest
from heronpy.loading.file_process import load, source_of

ROOT = Path(__file__).parent.parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save this as\s+`(\w+)\.py`")


class Snippet(NamedTuple):
    page: str
    line: int
    code: str
    #: module that the text in front of it calls it
    module: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text()
    found, seen = [], 0
    for match in FENCE.finditer(text):
        saved = SAVED.search(text, seen, match.start())
        line = text.count("\n", 0, match.start()) + 1
        found.append(Snippet(page.name, line, match[1], saved[1] if saved else ""))
        seen = match.end()
    return found


ALL = [snippet for page in PAGES for snippet in snippets(page)]
TOPOLOGIES = [one for one in ALL if "(Topology)" in one.code or "build_and_submit()" in one.code]
PIPELINES = [one for one in ALL if "= Pipeline(" in one.code and ".write(" in one.code]
#: a file of a package begins with its path, and is tested with the package
TESTS = [one for one in ALL if "def test_" in one.code and not re.match(r"# tests/", one.code)]


@pytest.mark.parametrize("snippet", ALL, ids=str)
def test_the_snippet_is_python(snippet: Snippet) -> None:
    ast.parse(snippet.code)


@pytest.mark.parametrize("snippet", TOPOLOGIES, ids=str)
def test_the_topology_in_it_is_valid(snippet: Snippet, tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(snippet.code)
    (plan,) = load_topologies(file, ["named"])
    assert plan.components


@pytest.mark.parametrize("snippet", [one for one in PIPELINES if one not in TESTS], ids=str)
def test_the_pipeline_in_it_can_be_planned(snippet: Snippet, tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(snippet.code)
    assert "exchange in" in load(ExplainRequest(source_of(file))).shown


@pytest.mark.parametrize("snippet", TESTS, ids=str)
def test_the_tests_in_it_pass(snippet: Snippet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for other in ALL:
        if other.page == snippet.page and other.module:
            (tmp_path / f"{other.module}.py").write_text(other.code)
            monkeypatch.delitem(sys.modules, other.module, raising=False)
    namespace: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(snippet.code, str(snippet), "exec"), namespace)
    for name in [name for name in namespace if name.startswith("test_")]:
        namespace[name]()
