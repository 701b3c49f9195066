"""The runner contract: subclass it in your tests and name your runner."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from heronpy.testing.runner_suite import CASES, Case, SuiteRun, user_files


class RunnerContract:
    """What pipelines rely on, wherever they run: the results of every runner are the same.

    ```python
    class TestMyRunner(RunnerContract):
        runner = "mine"
        refuses = {"map_async(ordered=False)": "map_async(ordered=False)"}
    ```

    All cases of `heronpy.testing.runner_suite` are steps of one pipeline, which runs once.
    """

    #: as `--runner` names it
    runner: ClassVar[str] = "local"
    #: what it cannot carry, by what a case needs → how it calls that in its refusal
    refuses: ClassVar[Mapping[str, str]] = {}
    #: how many values a key has that all tasks send to
    hot_values: ClassVar[int] = 100_000
    #: seconds that a run may take
    timeout: ClassVar[float] = 300.0

    def settings(self) -> Mapping[str, object]:
        """Settings for `heronpy run`, by name."""
        return {}

    def run(self, file: Path) -> subprocess.CompletedProcess[str]:
        """Run a file with the runner, until its input has ended."""
        settings = [word for name, value in self.settings().items() for word in ("--set", f"{name}={value}")]
        heronpy = str(Path(sys.executable).parent / "heronpy")
        return subprocess.run(
            [heronpy, "run", str(file), "--runner", self.runner, *settings],
            capture_output=True,
            text=True,
            check=False,
            timeout=self.timeout,
            cwd=file.parent,
        )

    def carries(self, case: Case) -> bool:
        """Whether the case is part of the pipeline that runs."""
        return case.expected is not None and case.needs not in self.refuses

    @pytest.fixture(scope="class")
    @classmethod
    def suite_run(cls, tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
        """The one run of all cases that the runner carries."""
        contract = cls()
        place = tmp_path_factory.mktemp("runner-suite")
        names = [case.name for case in CASES.values() if contract.carries(case)]
        folder = place / "found"
        done = contract.run(user_files.write_suite(place, folder, names, cls.hot_values))
        assert done.returncode == 0, done.stderr
        return SuiteRun(folder, done.stdout)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", [case for case in CASES.values() if self.carries(case)], ids=str)

    def test_a_case_finds_what_it_must(self, case: Case, suite_run: SuiteRun) -> None:
        assert case.found(suite_run) == case.wanted()

    def test_what_is_not_committed_is_gone(self, suite_run: SuiteRun) -> None:
        left = [path for path in suite_run.folder.rglob(".uncommitted/*") if path.is_file()]
        assert left == []

    def test_what_it_does_not_carry_is_refused_by_name_before_anything_starts(self, tmp_path: Path) -> None:
        refused = [case for case in CASES.values() if case.needs in self.refuses]
        one_for_each = {case.needs: case for case in reversed(refused)}  # the first: queries name their steps
        for case in one_for_each.values():
            folder = tmp_path / "found"
            done = self.run(user_files.write_case(tmp_path, folder, case.name))
            assert (done.returncode, done.stdout, folder.exists()) == (1, "", False), done.stderr
            assert re.match(
                rf"error: the runner '{self.runner}' has no {re.escape(self.refuses[case.needs])}:"
                rf" step '{case.name}\.\w+' at \w+\.py:\d+ \(try: ",
                done.stderr.splitlines()[-1],
            ), done.stderr

    def test_a_user_error_is_a_line_with_step_file_and_line(self, tmp_path: Path) -> None:
        file = user_files.write_user_error(tmp_path, tmp_path / "found")
        (line,) = (
            number
            for number, text in enumerate(file.read_text().splitlines(), 1)
            if text.endswith("# here it fails")
        )
        done = self.run(file)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.splitlines()[-1] == (
            f"error: step 'share' failed at user_error.py:{line}: ZeroDivisionError:"
            " integer division or modulo by zero, for the record 0"
        )
        assert "heronpy" not in done.stderr, "the engine's frames are of no use to the user"
        assert not list((tmp_path / "found").glob("*.txt"))

    def test_a_key_that_cannot_be_one_is_named_with_its_step(self, tmp_path: Path) -> None:
        done = self.run(user_files.write_unkeyable(tmp_path, tmp_path / "found"))
        assert (done.returncode, done.stdout) == (1, "")
        assert re.match(
            r"error: step '(letters|count)' failed at unkeyable.py:\d: TypeError: a list cannot be a key: use"
            r" .*, for the key \['to'\]$",
            done.stderr.splitlines()[-1],
        ), done.stderr
