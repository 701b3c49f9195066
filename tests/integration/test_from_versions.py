"""A topology begins with a checkpoint that an earlier version has made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.running.engine import Engine, wait_until

FIXTURES = Path(__file__).parent.parent / "fixtures"


def shown(out: Path, name: str) -> Any:
    return json.loads((out / name).read_text()) if (out / name).exists() else None


@pytest.mark.cluster
@pytest.mark.parametrize(
    "folder", sorted(FIXTURES.glob("checkpoint-*-effectively-once")), ids=lambda f: f.name
)
def test_a_topology_goes_on_from_it_exactly(engine: Engine, tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    shutil.copytree(folder, engine.home / "checkpoints", dirs_exist_ok=True)
    engine.ok("submit", str(FIXTURES / "saved.py"), "EFFECTIVELY_ONCE", "60", str(out), "--from", "Saved")
    expected = {str(digit): [12, "2026-11-17"] for digit in range(10)}
    wait_until(lambda: shown(out, "counts") == expected, 60, "all are counted", engine.log_tails)
    numbers = sorted([*range(60), *range(60)])
    wait_until(lambda: shown(out, "window") == numbers, 30, "all are in the window", engine.log_tails)
    assert shown(out, "committed-1") == sorted([*range(50), *range(50)])
    engine.ok("kill", "Saved")
    engine.ok("checkpoints", "Saved", "--delete")
    assert engine.leftovers() == []
