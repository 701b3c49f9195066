"""What the plugin tutorial shows keeps its contracts, and is the package in examples/plugins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from heronpy import ResourceManager, Scheduler
from heronpy.testing.contracts.packing import PackingContract
from heronpy.testing.contracts.scheduler import SchedulerContract

ROOT = Path(__file__).parent.parent.parent.parent
PACKAGE = ROOT / "examples" / "plugins" / "heronpy-ssh-scheduler"
TUTORIAL = (ROOT / "docs" / "plugin-tutorial.md").read_text()

#: a block that begins with the path of a file
SHOWN = re.compile(r"^```(?:python|toml)\n# ([\w./]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_file_is_shown_as_it_is() -> None:
    shown = dict(SHOWN.findall(TUTORIAL))
    files = [path for suffix in ("py", "toml") for path in PACKAGE.rglob(f"*.{suffix}")]
    assert shown == {str(path.relative_to(PACKAGE)): path.read_text() for path in files}
    assert f"```sh\n{(PACKAGE / 'netns-ssh').read_text()}```" in TUTORIAL


def test_it_is_as_short_as_the_tutorial_says() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in (PACKAGE / "src").rglob("*.py"))
    assert "about 250 lines of Python" in TUTORIAL
    assert 240 <= lines <= 270


def shown_class(name: str) -> Any:
    """A class as the tutorial defines it."""
    blocks = re.findall(r"^```python\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if f"class {name}(" in block)
    defined: dict[str, Any] = {}
    exec(compile(block, "docs/plugin-tutorial.md", "exec"), defined)
    return defined[name]


class TestPlainScheduler(SchedulerContract):
    def make(self) -> Scheduler:
        made: Scheduler = shown_class("PlainScheduler")()
        return made


class TestOneEachPacking(PackingContract):
    def make(self) -> ResourceManager:
        made: ResourceManager = shown_class("OneEachPacking")()
        return made
