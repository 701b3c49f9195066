"""The scheduler in examples/plugins: installed as a package of its own, found, used, gone without a trace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.running.engine import Engine
from support.schedulers.plugin_package import ExamplePackage

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parent.parent.parent
LEVEL = 5


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ExamplePackage:
    return ExamplePackage("heronpy-nice-scheduler", tmp_path_factory.mktemp("package"))


@pytest.fixture
def installed(package: ExamplePackage) -> str:
    return package.installed


def test_the_package_passes_its_own_tests(package: ExamplePackage) -> None:
    done = package.run_its_tests()
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
