"""A running topology is scaled: each word is counted once, nobody else is touched, the pause is short."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from support.running.engine import Engine
from support.running.live import LiveWords

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


def survivors(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Of those that were there before and are there now, who has another process."""
    return {name: pid for name, pid in before.items() if name in after and after[name] != pid}


@pytest.mark.parametrize("reliability", ["EFFECTIVELY_ONCE", "ATMOST_ONCE", "ATLEAST_ONCE"])
def test_counters_are_scaled_up_and_down_while_words_flow(
    engine: Engine, tmp_path: Path, reliability: str
) -> None:
    settings = ("checkpoint.interval=1s",)
    if reliability != "EFFECTIVELY_ONCE":
        (tmp_path / "brake").write_text("0.05")  # one at full speed is enough
    words = LiveWords(engine, tmp_path, reliability, settings=settings)
    words.flow()
    pauses = []
    for wanted in (4, 1, 3):
        before = words.pids()
        ledger = words.update(f"count={wanted}")
        print(wanted, ledger)
        pauses.append(ledger["ledger"]["pause_seconds"])
        assert ledger["ledger"]["lost"] == 0
        assert survivors(before, words.pids()) == {}
        words.flow()
    print(f"{reliability}: pauses {', '.join(f'{each * 1000:.0f}' for each in pauses)} ms")
    print(f"median {statistics.median(pauses) * 1000:.0f} ms")
    words.rest()
    account = words.account()
    print(account)
    assert account.words > 0
    assert account == (0, account.words, account.words)
    words.end()
