"""What happens to tests that cannot run here: they fail where all must run, and are skipped where not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.suite.needs import must_run_all

TESTS = Path(__file__).parents[1]

#: written for a machine without a command of this name
WANTING = """
import pytest
from support.suite import needs

@pytest.fixture(scope="session")
def server():
    needs.needs_command("heronpy-nowhere", "Nowhere 3")

def test_one(server): pass
def test_two(server): pass
def test_other(): needs.needs(False, "no moon (try: wait)")
def test_all_is_there(): needs.needs(True, "no sun")
"""


def run_wanting(folder: Path, user: int, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_wanting.py").write_text(f"import os\nos.geteuid = lambda: {user}\n{WANTING}")
    words = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly")
    return subprocess.run(
        [sys.executable, *words, "-c", os.devnull, f"--rootdir={folder}", *options, "test_wanting.py"],
        cwd=folder,
        env={**{key: value for key, value in os.environ.items() if key != "CI"}, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_for_a_normal_user_a_test_that_cannot_run_is_left_out_with_the_reason(tmp_path: Path) -> None:
    done = run_wanting(tmp_path, 1000, "-ra")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no command 'heronpy-nowhere' (try: install Nowhere 3)\n" in done.stdout
    assert "no moon (try: wait)\n" in done.stdout
    assert "1 passed, 3 skipped" in done.stdout


def test_root_leaves_nothing_out(tmp_path: Path) -> None:
    done = run_wanting(tmp_path, 0)
    assert done.returncode == 1
    assert "RuntimeError: no command 'heronpy-nowhere' (try: install Nowhere 3)" in done.stdout
    assert "1 failed, 1 passed, 2 errors" in done.stdout


@pytest.mark.parametrize(
    ("user", "environment", "all_of_them"),
    [
        (0, {}, True),
        (1000, {"CI": "true"}, True),
        (1000, {"CI": "1"}, True),
        (1000, {"CI": "false"}, False),
        (1000, {"CI": ""}, False),
        (1000, {}, False),
    ],
)
def test_who_must_run_all(user: int, environment: dict[str, str], all_of_them: bool) -> None:
    assert must_run_all(user, environment) == all_of_them
