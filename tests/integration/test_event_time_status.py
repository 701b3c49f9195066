"""status says how far event time has come, and names the split at the other end that keeps it back."""

from __future__ import annotations

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching


@pytest.mark.cluster
def test_a_silent_split_is_named_with_what_to_set_also_after_scaling(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "half_silent.py"))
    with Watching(engine, "HalfSilent") as watching:

        def known() -> dict[str, float | None]:
            return {one.component: one.low_watermark for one in watching.status().event_time}

        expected = {"clicks": 5.0, "relay": 5.0, "windows": 5.0}
        wait_until(lambda: known() == expected, 20, "the watermark has come through", watching.detail)
        silent = "clicks[1] split silent: try idle='30s'"

        def named() -> bool:
            return {one.held_by for one in watching.status().event_time} == {silent}

        wait_until(named, 20, "the split is named", watching.detail)
        assert silent in engine.ok("status", "HalfSilent")

        engine.ok("update", "HalfSilent", "windows=3")
        wait_until(lambda: known() == expected and named(), 20, "nothing has gone back", watching.detail)
    engine.ok("kill", "HalfSilent")
    assert engine.leftovers() == []
