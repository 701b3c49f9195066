"""Wheels, built with a compiler and without, and a source archive: each installs, and all count alike."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.golden_keys import GOLDEN
from support.installed_columns import BATCHES, WORDS
from support.suite.needs import needs_command

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

TESTS = Path(__file__).parent.parent
NOT_OURS = shutil.ignore_patterns(
    ".*", "tests", "bench", "build", "dist", "*.egg-info", "__pycache__", "*.so"
)
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
#: with what is there: nothing is fetched
HERE = ("--no-index", "--no-deps", "--no-build-isolation")
SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
MODULE = "heronpy/kernel/flow/_column_keys.abi3.so"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources as they are checked out, without what was built from them."""
    return shutil.copytree(TESTS.parent, tmp_path / "tree", ignore=NOT_OURS, symlinks=True)


def do(*command: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel(tree: Path, **environment: str) -> Path:
    do(*PIP, "wheel", *HERE, "--wheel-dir", "wheels", ".", cwd=tree, **environment)
    (built,) = (tree / "wheels").iterdir()
    return built


def modules(built: Path) -> list[str]:
    """What of a wheel is compiled."""
    return [name for name in zipfile.ZipFile(built).namelist() if name.endswith((".so", ".c", ".h"))]


def installed(package: Path, folder: Path) -> str | None:
    """Install it and let it count; which compiled module it used, as a path below the folder."""
    do(*PIP, "install", *HERE, "--no-compile", "--target", str(folder), str(package), cwd=folder.parent)
    path = os.pathsep.join([str(folder), str(TESTS)])
    said = do(sys.executable, "-m", "support.installed_columns", cwd=folder.parent, PYTHONPATH=path)
    found: dict[str, Any] = json.loads(said)
    assert Path(found["heronpy"]) == folder / "heronpy" / "__init__.py"
    assert found["groups"] == [group for _, _, group in GOLDEN]
    one, other = found["counts"]
    assert min(len(one), len(other)) > WORDS / 4
    assert len(one) + len(other) == WORDS
    assert one | other == {f"word {number}": BATCHES for number in range(WORDS)}
    return str(Path(found["module"]).relative_to(folder)) if found["module"] else None


def test_a_wheel_has_the_compiled_module_and_says_for_which_machines(tree: Path, tmp_path: Path) -> None:
    needs_command("gcc", "gcc")
    built = wheel(tree)
    name, _, tag = built.stem.split("-", 2)
    assert (name, *tag.split("-")[:2]) == ("heron_py", "cp311", "abi3")
    assert tag.split("-")[2].startswith("linux_")
    assert modules(built) == [MODULE]
    assert installed(built, tmp_path / "installed") == MODULE


def test_a_wheel_that_was_built_without_a_compiler_is_for_every_machine(tree: Path, tmp_path: Path) -> None:
    built = wheel(tree, CC="/bin/false")
    assert built.stem.split("-", 2)[2] == "py3-none-any"
    assert modules(built) == []
    assert installed(built, tmp_path / "installed") is None


def test_a_source_archive_compiles_where_it_is_installed(tree: Path, tmp_path: Path) -> None:
    needs_command("gcc", "gcc")
    do(sys.executable, "-c", SDIST, str(tmp_path), cwd=tree)
    (archive,) = tmp_path.glob("heron_py-*.tar.gz")
    assert installed(archive, tmp_path / "installed") == MODULE
