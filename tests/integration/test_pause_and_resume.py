"""deactivate stops the spouts and nothing else; activate lets them go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching


@pytest.mark.cluster
def test_a_paused_topology_emits_nothing_until_it_is_activated(engine: Engine, tmp_path: Path) -> None:
    def emitted() -> int:
        return int.from_bytes((tmp_path / "emitted").read_bytes(), "little")

    engine.here = frozenset()  # the verbs as commands
    engine.ok("submit", str(TOPOLOGIES / "witnessed.py"), str(tmp_path))
    with Watching(engine, "Witnessed") as watching:

        def reported() -> int:
            return sum(one.emitted for one in watching.status().instances)

        wait_until(lambda: reported() > 3, 20, "first tuples", watching.detail)

        engine.ok("deactivate", "Witnessed")
        paused = emitted()
        assert watching.status().state == "PAUSED"
        # The last report has every tuple; a spout that went on at full speed would emit thousands until then.
        wait_until(lambda: reported() == paused, 10, f"{paused} tuples are reported", watching.detail)
        assert emitted() == paused

        engine.ok("activate", "Witnessed")
        wait_until(lambda: reported() > paused, 10, "new tuples", watching.detail)
        assert watching.status().state == "RUNNING"
    engine.ok("kill", "Witnessed")
    assert engine.leftovers() == []
