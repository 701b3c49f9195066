"""The source and the sink that docs/connectors.md writes keep the contracts as it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from heronpy import Pipeline

PAGE = Path(__file__).parents[3] / "docs/connectors.md"


def _saved(name: str) -> ModuleType:
    """A module that the page tells the reader to save."""
    found = re.search(rf"ave this as `{name}\.py`.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    module = sys.modules[name] = ModuleType(name)
    exec(compile(found[1], f"{name}.py", "exec"), module.__dict__)
    return module


countdown = _saved("countdown")
tests = _saved("test_countdown")


class TestCountdown(tests.TestCountdown):  # type: ignore[misc, name-defined]
    pass


class TestAppended(tests.TestAppended):  # type: ignore[misc, name-defined]
    pass


def test_they_are_read_and_written_by_a_pipeline(tmp_path: Path) -> None:
    p = Pipeline("countdown")
    p.read(countdown.Countdown(3)).write(countdown.Appended(tmp_path / "out.txt"))
    p.run()
    assert (tmp_path / "out.txt").read_text() == "3\n2\n1\n"
