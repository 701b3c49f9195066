"""Packages with plugins, installed as pip does it, into a folder beside what is installed already."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples" / "plugins"


#: has a folder on PYTHONPATH treated as site-packages: its .pth files count in processes that start later
SITE = "import pathlib, site\nsite.addsitedir(str(pathlib.Path(__file__).parent))\n"


def install(source: Path, folder: Path, *, editable: bool = False) -> None:
    """On PYTHONPATH, the folder is then as good as site-packages."""
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(folder)]
    what = ["--editable", str(source)] if editable else [str(source)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *what], check=True)


def example_source(name: str, folder: Path) -> Path:
    """A copy of one of examples/plugins, because a build leaves files in the folder it is given."""
    left_out = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(EXAMPLES / name, folder / name, ignore=left_out)
    return folder / name


class ExamplePackage:
    """One of examples/plugins."""

    def __init__(self, name: str, folder: Path) -> None:
        self._source = example_source(name, folder)
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
