"""heronpy plugin new: a package, or one line that says why there is none."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from heronpy.cli.plugin_package import KINDS
from heronpy.kernel.plugin import hookspecs

Heronpy = Callable[..., Result]


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_is_made_with_everything_in_it(heronpy: Heronpy, workspace: Path, kind: str) -> None:
    folder, module = f"heronpy-my-own-{kind}", kind.replace("-", "_")
    package = folder.replace("-", "_")
    made, following = heronpy("plugin", "new", kind, "my-own").stdout.splitlines()
    assert made == f"made  {folder}, a package with the {kind.replace('-', ' ')} my-own"
    assert following.startswith(f"next  cd {folder} && python -m pytest")

    files = {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}
    assert files == {
        "README.md",
        "pyproject.toml",
        f"src/{package}/__init__.py",
        f"src/{package}/{module}.py",
        f"tests/test_{module}.py",
    }
    for path in Path(folder).rglob("*.py"):
        ast.parse(path.read_text())
        assert "$" not in path.read_text()
    project = tomllib.loads(Path(folder, "pyproject.toml").read_text())["project"]
    assert project["name"] == folder
    assert project["entry-points"] == {"heronpy": {"my-own": package}}
    assert KINDS[kind].hook in vars(hookspecs)


def test_the_folder_can_be_chosen_and_is_never_overwritten(heronpy: Heronpy, workspace: Path) -> None:
    heronpy("plugin", "new", "scheduler", "mine", "--folder", "some/where")
    before = (workspace / "some/where/pyproject.toml").stat()
    done = heronpy("plugin", "new", "scheduler", "mine", "--folder", "some/where")
    assert done.exit_code == 1
    assert done.stderr == (
        "error: some/where exists already (try: give the path of a new folder with --folder)\n"
    )
    assert (workspace / "some/where/pyproject.toml").stat() == before


@pytest.mark.parametrize("name", ["Mine", "1st", "my own", "-x", "../x", "a/b", "", "x-", "import", "é"])
def test_a_bad_name_is_refused(heronpy: Heronpy, workspace: Path, name: str) -> None:
    done = heronpy("plugin", "new", "--", "scheduler", name)
    assert done.exit_code == 1
    assert done.stderr == (
        f"error: {name!r} cannot be the name of a plugin: use lower-case letters and digits, '-' in between\n"
    )
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name"), [("scheduler", "local"), ("state-manager", "zookeeper"), ("checkpoint-store", "fsspec")]
)
def test_a_name_that_is_taken_is_refused(heronpy: Heronpy, workspace: Path, kind: str, name: str) -> None:
    done = heronpy("plugin", "new", kind, name)
    assert done.exit_code == 1
    assert done.stderr.startswith(
        f"error: the {kind.replace('-', ' ')} {name!r} exists already, in heron-py "
    )
    assert list(workspace.iterdir()) == []


def test_an_unknown_kind_is_a_usage_error(heronpy: Heronpy, workspace: Path) -> None:
    done = heronpy("plugin", "new", "schedular", "mine")
    assert done.exit_code == 2
    assert "'schedular' is not one of 'scheduler', 'state-manager', 'uploader'" in done.stderr


def test_what_cannot_be_written_is_one_line(heronpy: Heronpy, workspace: Path) -> None:
    (workspace / "file").touch()
    done = heronpy("plugin", "new", "scheduler", "mine", "--folder", "file/folder")
    assert done.exit_code == 1
    assert done.stderr == (
        "error: cannot write file/folder: Not a directory (try: choose another place with --folder)\n"
    )
