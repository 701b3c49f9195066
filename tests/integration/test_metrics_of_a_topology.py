"""Numbers of a running topology are there within two seconds: in status, in a file, and for Prometheus."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

#: seconds: six tuples take the ticker one, their way two more, and a verb has to start
SOON = 4


def components(file: Path) -> set[str]:
    """Whose samples are in it; the last line may be half written."""
    lines = file.read_text().rpartition("\n")[0].splitlines() if file.exists() else []
    return {json.loads(line)["component"] for line in lines}


def page(url: Path) -> str:
    with urllib.request.urlopen(url.read_text().strip(), timeout=10) as answer:
        text: str = answer.read().decode()
    return text


@pytest.mark.cluster
def test_numbers_are_visible_within_two_seconds_everywhere(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "counted", "--set", "metrics.sinks=jsonl,prometheus")

    def counted() -> list[int]:
        numbers = {"ticker": "emitted", "sink": "executed"}
        return [one[numbers[one["component"]]] for one in engine.status("counted")["instances"]]

    wait_until(lambda: min(counted()) > 5, SOON, "numbers in the status", engine.log_tails)

    folder = engine.home / "topologies" / "counted" / "metrics"
    file, url = folder / "container-1.jsonl", folder / "prometheus-1.url"
    expected = {"ticker", "sink", "stream-manager"}
    wait_until(
        lambda: components(file) >= expected, SOON, "numbers in the file", lambda: str(components(file))
    )
    wait_until(url.exists, 10, "the endpoint")
    wait_until(lambda: "heronpy_emitted_total{" in page(url), SOON, "numbers in the page", lambda: page(url))
    assert 'component="ticker"' in page(url)

    shown = engine.ok("top", "counted", "--once")
    assert "ticker" in shown
    assert "sink" in shown
    engine.ok("kill", "counted")
    assert engine.leftovers() == []
