"""What `make test` says and does when a test fails, on a small project of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent

PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["tests"]
markers = ["cluster", "slow", "soak"]
"""
MAKEFILE = ".PHONY: build/lowest/.made\nsetup lint types build/lowest/.made:\n\t@echo made $@\n"

#: a test that fails as often as its folder has no file for it yet
SHAKY = """
import pathlib, pytest

@pytest.mark.cluster
def test_shaky():
    file = pathlib.Path(__file__).with_suffix(".again")
    first = not file.exists()
    file.touch()
    assert not first, "the machine was busy"
"""
BROKEN = "import pytest\n\n@pytest.mark.cluster\ndef test_broken():\n    assert 1 == 2\n"
WRONG = "def test_wrong():\n    assert 1 == 2\n"
CLUSTER = """
import pytest

@pytest.mark.cluster
def test_cluster():
    pass

@pytest.mark.cluster
def test_namespaces():
    pytest.skip("network namespaces need root")
"""
SOUND = "def test_sound():\n    pass\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the same runner, the same plugin and one sound test."""
    folder = tmp_path / "a project"
    support = folder / "tests" / "support" / "suite"
    support.mkdir(parents=True)
    shutil.copy(TESTS / "whole_run.py", folder / "tests")
    shutil.copy(TESTS / "support" / "suite" / "record.py", support)
    (folder / "tests" / "conftest.py").write_text('pytest_plugins = ["support.suite.record"]\n')
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "Makefile").write_text(MAKEFILE)
    for environment in (folder / ".venv", folder / "build" / "lowest"):
        environment.parent.mkdir(exist_ok=True)
        environment.symlink_to(sys.prefix)
    (folder / "requirements").mkdir()
    (folder / "requirements" / "lowest.tests").write_text("tests/test_sound.py\n")
    (folder / "tests" / "test_sound.py").write_text(SOUND)
    return folder


def run(project: Path, *stages: str, seed: int = 1) -> tuple[int, str]:
    command = [sys.executable, "tests/whole_run.py", "--seed", str(seed), "--workers", "0", *stages]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def add(project: Path, name: str, text: str) -> None:
    (project / "tests" / f"test_{name}.py").write_text(text)


def test_a_green_run_lists_second_tries_what_was_left_out_and_times(project: Path) -> None:
    add(project, "cluster", CLUSTER)
    code, said = run(project)
    assert code == 0
    assert "made lint\nmade setup\nmade types\nmade setup\n" in said
    assert "made setup\nmade build/lowest/.made\n" in said
    assert "== passed at the second try ==\nnone\n" in said
    assert " s  tests/test_cluster.py::test_cluster\n" in said
    times = said.partition("== time of each stage (SEED=1) ==\n")[2].splitlines()
    stages = [line.split()[-1] for line in times if line]
    assert "== LEFT OUT: 1 tests did not run ==\n   1  network namespaces need root\n" in said
    assert stages == ["lint", "install", "types", "fast", "lowest", "cluster", "whole", "green"]


def test_a_cluster_test_that_passes_alone_is_listed_with_its_first_failure(project: Path) -> None:
    add(project, "shaky", SHAKY)
    code, said = run(project, "cluster")
    assert code == 0
    listed = said.partition("== passed at the second try ==\n")[2].splitlines()
    assert listed[0] == "tests/test_shaky.py::test_shaky"
    assert listed[1].startswith("    at first: call: ")
    assert listed[1].endswith("AssertionError: the machine was busy")
    assert said.endswith("\ngreen\n")


def test_a_cluster_test_that_fails_twice_is_red(project: Path) -> None:
    add(project, "broken", BROKEN)
    add(project, "shaky", SHAKY)
    code, said = run(project, "cluster")
    assert code == 1
    assert said.count("test_broken.py:5: AssertionError") == 2
    assert "== passed at the second try ==\ntests/test_shaky.py::test_shaky\n" in said
    assert said.endswith("\nRED: cluster\n")


def test_a_fast_test_has_no_second_try_and_ends_the_run(project: Path) -> None:
    add(project, "wrong", WRONG)
    add(project, "broken", BROKEN)
    code, said = run(project, "fast", "cluster")
    assert code == 1
    assert "test_broken" not in said
    assert said.count("test_wrong.py:2: AssertionError") == 1
    assert said.endswith("\nRED: fast\n")


def test_failures_without_number_are_not_tried_again(project: Path) -> None:
    each = "import pytest\n\n@pytest.mark.cluster\n@pytest.mark.parametrize('n', range(11))\n"
    add(project, "all", f"{each}def test_all(n):\n    assert n < 0\n")
    code, said = run(project, "cluster")
    assert code == 1
    assert "second try: " not in said


def test_tests_write_bytecode_also_where_the_caller_does_not(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert run(project, "fast")[0] == 0
    assert (project / "tests" / "__pycache__").exists()


def test_a_seed_decides_the_order(project: Path) -> None:
    many = "\n".join(f"def test_{n}():\n    print('ran', {n})\n    assert False\n" for n in range(9))
    add(project, "many", many)

    def order(seed: int) -> list[str]:
        said = run(project, "fast", seed=seed)[1]
        assert f"(SEED={seed})" in said
        return [line for line in said.splitlines() if line.startswith("ran ")]

    assert order(1) == order(1) != order(2)
