"""From `heronpy plugin new` to a plugin that runs: its contract fails until the methods are written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine
from support.schedulers.plugin_package import install

from heronpy.cli.plugin_package import KINDS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

#: kind → the class to be written, and one of ours to derive it from; the contracts of these run to their end
WRITTEN = {
    "scheduler": ("MineScheduler", "heronpy.plugins.scheduler.local", "LocalScheduler"),
    "state-manager": ("MineStateManager", "heronpy.plugins.state.localfs.manager", "LocalFsStateManager"),
    "uploader": ("MineUploader", "heronpy.plugins.uploader.localfs", "LocalFsUploader"),
}


#: the same order and the same examples each time
FIXED = ("-p", "no:randomly", "--hypothesis-seed=1")


def contract(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What its author sees after `python -m pytest`."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FIXED, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_contract_fails_until_the_methods_are_written(engine: Engine, tmp_path: Path, kind: str) -> None:
    folder, module = tmp_path / "package", kind.replace("-", "_")
    engine.ok("plugin", "new", kind, "mine", "--folder", str(folder))
    failed = contract(folder, "-x")
    assert failed.returncode == 1
    missing = re.compile(r"^E +NotImplementedError: Mine\w+\.\w+ is not written yet$", re.MULTILINE)
    assert missing.search(failed.stdout), failed.stdout

    if kind not in WRITTEN:
        return
    name, home, ours = WRITTEN[kind]
    source = folder / "src" / f"heronpy_mine_{module}" / f"{module}.py"
    source.write_text(f"from {home} import {ours}\n\n\nclass {name}({ours}):\n    pass\n")
    passed = contract(folder)
    assert passed.returncode == 0, passed.stdout
    print(f"{kind}: {passed.stdout.splitlines()[-1]}")


def test_a_new_scheduler_is_found_and_runs_a_topology(engine: Engine, tmp_path: Path) -> None:
    folder, installed = tmp_path / "package", tmp_path / "installed"
    engine.ok("plugin", "new", "scheduler", "mine", "--folder", str(folder))
    name, home, ours = WRITTEN["scheduler"]
    source = folder / "src/heronpy_mine_scheduler/scheduler.py"
    source.write_text(f"from {home} import {ours}\n\n\nclass {name}({ours}):\n    pass\n")
    install(folder, installed)
    engine.environment["PYTHONPATH"] = str(installed)
    listed = json.loads(engine.ok("plugins", "-o", "json"))
    assert {"name": "mine", "kind": "scheduler", "origin": "heronpy-mine-scheduler 0.1.0"} in listed
    taken = engine.fails("plugin", "new", "scheduler", "mine", "--folder", str(tmp_path / "again"))
    assert "the scheduler 'mine' exists already, in heronpy-mine-scheduler 0.1.0" in taken
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "Trickle", "--scheduler", "mine")
    assert engine.status("Trickle")["scheduler"] == "mine"
    engine.ok("kill", "Trickle")
    assert engine.leftovers() == []
