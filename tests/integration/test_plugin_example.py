"""The scheduler in examples/plugins: installed as a package of its own, found, used, gone without a trace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.engine import Engine

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "examples" / "plugins" / "heronpy-nice-scheduler"
LEVEL = 5


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, because a build leaves files in the folder it is given."""
    copy = tmp_path_factory.mktemp("source") / PACKAGE.name
    return shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))


@pytest.fixture(scope="module")
def installed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder that has the package as pip installs it; on PYTHONPATH it is as good as site-packages."""
    folder = str(tmp_path_factory.mktemp("installed"))
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", folder]
    subprocess.run([sys.executable, "-m", "pip", *install, str(source)], check=True)
    return folder


def test_the_package_passes_its_own_tests(source: Path, installed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml", "tests"],
        cwd=source,
        env={**os.environ, "PYTHONPATH": installed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_plugins_lists_it_with_its_origin(engine: Engine, installed: str) -> None:
    listed = json.loads(engine.ok("plugins", "-o", "json", PYTHONPATH=installed))
    assert {"name": "nice", "kind": "scheduler", "origin": "heronpy-nice-scheduler 0.1.0"} in listed


def test_a_topology_runs_under_it_and_kill_leaves_nothing(engine: Engine, installed: str) -> None:
    engine.ok(
        "submit",
        str(ROOT / "examples" / "word_count.py"),
        *("--scheduler", "nice", "--set", f"plugins.nice.level={LEVEL}"),
        PYTHONPATH=installed,
        timeout=110,
    )
    status = json.loads(engine.ok("status", "WordCount", "-o", "json", PYTHONPATH=installed))

    assert (status["state"], status["scheduler"]) == ("RUNNING", "nice")
    assert len(status["instances"]) == 4
    for instance in status["instances"]:
        assert os.getpriority(os.PRIO_PROCESS, instance["pid"]) == LEVEL

    engine.ok("kill", "WordCount", PYTHONPATH=installed)
    assert engine.leftovers() == []
