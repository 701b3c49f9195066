"""Numbers of a running topology are there within two seconds: in status, in a file, and for Prometheus."""

from __future__ import annotations

import json
import time
import urllib.request

import pytest
from support.engine import TOPOLOGIES, Engine, wait_until


@pytest.mark.cluster
def test_numbers_are_visible_within_two_seconds_everywhere(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "counted", "--set", "metrics.sinks=jsonl,prometheus")
    time.sleep(3)  # so there are numbers of the first second at least
    status = engine.status("counted")
    assert all(i["emitted"] > 5 for i in status["instances"] if i["component"] == "ticker")
    assert all(i["executed"] > 5 for i in status["instances"] if i["component"] == "sink")

    folder = engine.home / "topologies" / "counted" / "metrics"
    wait_until(lambda: (folder / "prometheus-1.url").exists(), 10, "the endpoint")
    lines = [json.loads(line) for line in (folder / "container-1.jsonl").read_text().splitlines()]
    assert {line["component"] for line in lines} >= {"ticker", "sink", "stream-manager"}
    address = (folder / "prometheus-1.url").read_text().strip()
    with urllib.request.urlopen(address, timeout=10) as answer:
        page = answer.read().decode()
    assert "heronpy_emitted_total{" in page
    assert 'component="ticker"' in page

    shown = engine.ok("top", "counted", "--once")
    assert "ticker" in shown
    assert "sink" in shown
    engine.ok("kill", "counted")
    assert engine.leftovers() == []
