"""Every bounded example finds on the engine what it finds in one process: its golden results.

tests/unit/docs/test_pipeline_examples.py compares the runner `local` with the same results.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.pipelines.example_results import FOLDER, PRINTED, ZONES, copied, zones
from support.running.engine import Engine

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]


def test_the_engine_finds_what_each_example_must(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = sorted(file.stem for file in FOLDER.glob("*.py"))
    assert examples == sorted(PRINTED), "an example without results"
    folder = copied(tmp_path)
    monkeypatch.chdir(folder)
    found = {
        name: Counter(engine.ok("run", f"{name}.py", "--runner", "engine").splitlines()) for name in examples
    }
    assert found == {name: Counter(lines) for name, lines in PRINTED.items()}
    assert zones(folder) == ZONES
    assert engine.leftovers() == []
