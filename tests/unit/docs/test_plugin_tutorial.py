"""What the plugin tutorial shows is the package in examples/plugins, file by file."""

from __future__ import annotations

import re
from pathlib import Path

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
