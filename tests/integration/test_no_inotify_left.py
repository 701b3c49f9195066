"""A user whose inotify instances are all taken by other programs: topologies start, run and are killed."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from support.faults.user_limits import inotify_instances
from support.running.engine import TOPOLOGIES, Engine, wait_until


@pytest.mark.cluster
@pytest.mark.timeout(200)
def test_every_verb_works_without_an_inotify_instance(tmp_path: Path) -> None:
    with inotify_instances(0) as front, contextlib.closing(Engine(tmp_path / "home", front)) as engine:
        engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "crowded")
        (row,) = json.loads(engine.ok("list", "-o", "json"))
        assert (row["name"], row["state"]) == ("crowded", "RUNNING")

        def executed() -> int:
            return sum(int(instance["executed"]) for instance in engine.status("crowded")["instances"])

        wait_until(lambda: executed() > 5, 30, "tuples")
        for verb, state in (("deactivate", "PAUSED"), ("activate", "RUNNING")):
            engine.ok(verb, "crowded")
            assert engine.status("crowded")["state"] == state
        engine.ok("update", "crowded", "sink=2", "--yes")
        wait_until(lambda: len(engine.status("crowded")["instances"]) == 3, 30, "another task")
        engine.ok("kill", "crowded")
        assert engine.leftovers() == []
