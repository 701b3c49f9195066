"""`python -m bench run`: topologies of the benches run, and every figure comes out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


def test_one_short_round_gives_every_figure_that_is_asked_for(tmp_path: Path) -> None:
    """Latency beside a bare relay, ZeroMQ, and instances that share a process and have nothing to do."""
    keys, out = ["hop-relay", "hop-relay-emit", "hop-cpu", "idle-fused", "plan"], tmp_path / "found.json"
    asked = [word for key in keys for word in ("--only", key)]
    command = [sys.executable, "-m", "bench", "run", "--quick", "--out", str(out), *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())
    assert (found["failures"], found["left out"], found["quick"]) == ([], {}, True)
    assert found["figures"].keys() >= set(keys)
    for key in keys:
        assert found["figures"][key]["median"] > 0, key
        assert found["figures"][key]["verdict"] == "undecided", "one round decides nothing"
    # a second at a thousand a second, and what was settled meanwhile
    assert found["histograms"].keys() == {"hop", "hop again"}
    assert found["hiccups"][0]["points"] > 0
    assert "| 200 idle instances, fused: per cent of a core | ≤ 2 |" in done.stdout
