"""Every pipeline in examples/pipelines is short, is listed, and prints or writes what it says."""

from __future__ import annotations

import ast
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
FOLDER = EXAMPLES / "pipelines"
HERONPY = str(Path(sys.executable).parent / "heronpy")

PRINTED = {
    "wordcount": [
        "('to', 2)",
        "('be', 2)",
        *(f"('{word}', 1)" for word in ["or", "not", "that", "is", "the", "question"]),
    ],
    "join": [
        "30 euros by Grace",
        "5 euros by Ada",
        "12 euros by Grace",
        "7 euros by an unknown customer",
        "Ada has spent 5 euros",
        "Grace has spent 42 euros",
    ],
    "process": [
        "attic: 20.0 to 29.0, alarm 1",
        "cellar: 12.5 to 18.0, alarm 1",
        "attic: 29.0 to 35.5, alarm 2",
    ],
    "map_async": ["ORCL 174", "AAPL 231", "NVDA 139", "AAPL 231"],
    "aside": [
        "not an order: 'ada twelve' (ValueError: invalid literal for int() with base 10: 'twelve')",
        "ada has spent 12",
        "grace has spent 7",
        "grace has spent 77",
        "ada has spent 25",
        "look at grace: 70 euros at once",
    ],
    "csv_to_sqlite": [],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(
        FOLDER, tmp_path / "pipelines", ignore=shutil.ignore_patterns("__pycache__", "*.db*")
    )


def ran(folder: Path, *command: str) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_example_is_tested_and_listed_and_fits_on_a_screen() -> None:
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    assert set(files) == set(PRINTED)
    listed = (EXAMPLES / "README.md").read_text()
    for name, text in files.items():
        assert f"[pipelines/{name}.py](pipelines/{name}.py)" in listed
        assert f"heronpy run {name}.py" in (ast.get_docstring(ast.parse(text)) or "")
        assert len(text.splitlines()) <= 60
        assert text.endswith("\np.run()\n")


@pytest.mark.parametrize("name", PRINTED)
def test_heronpy_run_prints_its_results_and_nothing_else(name: str, folder: Path) -> None:
    assert ran(folder, HERONPY, "run", f"{name}.py") == PRINTED[name]
    if name == "csv_to_sqlite":
        with closing(sqlite3.connect(folder / "zones.db")) as database:
            rows = database.execute("SELECT zone, trips, fare FROM zones ORDER BY zone").fetchall()
        assert rows == [("airport", 2, 90.5), ("harbour", 2, 23.0)]


def test_a_word_count_has_eight_lines_and_runs_as_a_program_and_by_name_of_a_runner(folder: Path) -> None:
    code = (folder / "wordcount.py").read_text().rpartition('"""')[2]
    assert len([line for line in code.splitlines() if line]) == 8
    assert ran(folder, sys.executable, "wordcount.py") == PRINTED["wordcount"]
    assert ran(folder, HERONPY, "run", "wordcount.py", "--runner", "local") == PRINTED["wordcount"]
