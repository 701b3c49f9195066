"""A contract that is not kept says what was found, not only that something was wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FORGETFUL = """
import msgspec

from heronpy.plugins.packing.round_robin import RoundRobin
from heronpy.testing.contracts.packing import PackingContract


class Forgetful(RoundRobin):
    def pack(self):
        return msgspec.structs.replace(super().pack(), epoch=7)


class TestForgetful(PackingContract):
    def make(self):
        return Forgetful()
"""


def test_a_failed_promise_shows_the_values(tmp_path: Path) -> None:
    (tmp_path / "test_forgetful.py").write_text(FORGETFUL)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--tb=short",
    ]
    done = subprocess.run(
        [*command, "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "assert 7 == 1" in done.stdout, done.stdout
