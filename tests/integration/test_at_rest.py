"""An effectively-once topology to which nothing comes is saved once, and not again until something does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.live import saved_state
from support.running.watching import Watching

from heronpy.kernel.status import CheckpointStatus

#: checkpoints that would have been taken while nothing happens
INTERVALS = 8


@pytest.mark.cluster
def test_no_checkpoint_is_taken_while_nothing_changes(engine: Engine, tmp_path: Path) -> None:
    limit = tmp_path / "limit"
    limit.write_text("100")
    engine.ok("submit", str(TOPOLOGIES / "at_rest.py"), str(limit), "--set", "checkpoint.interval=250ms")
    with Watching(engine, "AtRest") as watching:

        def checkpoints() -> CheckpointStatus:
            return watching.status().checkpoints or CheckpointStatus()

        wait_until(lambda: checkpoints().unchanged, 30, "a checkpoint with all of it", watching.detail)
        saved = checkpoints()
        assert saved_state(engine, "AtRest") == {"numbers": {"all": 100}, "total": {"sum": 4950}}
        others = saved.at + INTERVALS * saved.interval
        wait_until(lambda: time.time() > others, 30, "time for others", watching.detail)
        assert checkpoints().unchanged
        assert watching.checkpoints().started == saved.id

        limit.write_text("200")
        wait_until(lambda: watching.newest() > saved.id, 30, "another checkpoint", watching.detail)
        wait_until(lambda: checkpoints().unchanged, 30, "a checkpoint with all of it", watching.detail)
        assert saved_state(engine, "AtRest") == {"numbers": {"all": 200}, "total": {"sum": 19900}}
    engine.ok("kill", "AtRest")
    assert engine.leftovers() == []
