"""Every pipeline in examples/pipelines is short, is listed, and prints or writes what it says."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from support.pipelines.example_results import FOLDER, PRINTED, ZONES, copied, zones

HERONPY = str(Path(sys.executable).parent / "heronpy")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path)


def ran(folder: Path, *command: str) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_example_is_tested_and_listed_and_fits_on_a_screen() -> None:
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    assert set(files) == set(PRINTED)
    listed = (FOLDER.parent / "README.md").read_text()
    for name, text in files.items():
        assert f"[pipelines/{name}.py](pipelines/{name}.py)" in listed
        assert f"heronpy run {name}.py" in (ast.get_docstring(ast.parse(text)) or "")
        assert len(text.splitlines()) <= 60
        assert text.endswith("\np.run()\n")


@pytest.mark.parametrize("name", PRINTED)
def test_heronpy_run_prints_its_results_and_nothing_else(name: str, folder: Path) -> None:
    assert ran(folder, HERONPY, "run", f"{name}.py") == PRINTED[name]
    if name == "csv_to_sqlite":
        assert zones(folder) == ZONES


def test_a_word_count_has_eight_lines_and_runs_as_a_program_and_by_name_of_a_runner(folder: Path) -> None:
    code = (folder / "wordcount.py").read_text().rpartition('"""')[2]
    assert len([line for line in code.splitlines() if line]) == 8
    assert ran(folder, sys.executable, "wordcount.py") == PRINTED["wordcount"]
    assert ran(folder, HERONPY, "run", "wordcount.py", "--runner", "local") == PRINTED["wordcount"]
