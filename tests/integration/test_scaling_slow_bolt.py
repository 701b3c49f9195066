"""A bolt that is far too slow for its source: that is when people scale, and it must not take long."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running.engine import Engine, wait_until
from support.running.live import TOPOLOGY, LiveWords

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


def held_up(engine: Engine) -> bool:
    """Whether the source waits for most of the time."""
    status = engine.status(TOPOLOGY)
    return all(one["waiting"] > 0.5 for one in status["instances"] if one["component"] == "words")


@pytest.mark.parametrize("reliability", ["ATMOST_ONCE", "EFFECTIVELY_ONCE"])
def test_a_bolt_that_holds_its_source_back_is_scaled(
    engine: Engine, tmp_path: Path, reliability: str
) -> None:
    words = LiveWords(engine, tmp_path, reliability, keys=1000, slow=0.001)
    words.flow()
    wait_until(lambda: held_up(engine), 30, "back-pressure", engine.log_tails)
    ledger = words.update("count=4")
    print(ledger)
    pause = ledger["ledger"]["pause_seconds"]
    print(f"{reliability}: pause {pause * 1000:.0f} ms")
    assert ledger["ledger"]["lost"] == 0
    words.flow()
    words.rest()
    account = words.account()
    assert account == (0, account.words, account.words)
    words.end()
