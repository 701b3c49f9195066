"""Packages with plugins, installed as pip does it, into a folder beside what is installed already."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "plugins"


def install(source: Path, folder: Path) -> None:
    """On PYTHONPATH, the folder is then as good as site-packages."""
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)


class ExamplePackage:
    """One of examples/plugins."""

    def __init__(self, name: str, folder: Path) -> None:
        # a copy, because a build leaves files in the folder it is given
        self._source = folder / name
        left_out = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
        shutil.copytree(EXAMPLES / name, self._source, ignore=left_out)
        self.installed = str(folder / "installed")
        install(self._source, folder / "installed")

    def run_its_tests(self) -> subprocess.CompletedProcess[str]:
        fixed = ["-p", "no:randomly", "--hypothesis-seed=1"]  # the same order and examples each time
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *fixed, "-c", "pyproject.toml", "tests"]
        return subprocess.run(
            [sys.executable, *command],
            cwd=self._source,
            env={**os.environ, "PYTHONPATH": self.installed},
            capture_output=True,
            text=True,
            check=False,
        )
