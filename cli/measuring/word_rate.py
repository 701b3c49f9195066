"""How many words a second this machine counts, from a spout to a bolt."""

from __future__ import annotations

import importlib.util
import time

from heronpy.cli.reading.topologies import ANSWER_TIMEOUT, open_state
from heronpy.cli.submitting.starting import start, take_down
from heronpy.cli.submitting.submission import prepare
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.status import TopologyStatus

NAME = "bench"
#: seconds before the measurement begins: by then batches and credit have found their size
WARM_UP = 3.0
#: seconds measured, unless the user says otherwise
MEASURED = 10.0


def count_words(config: Config, seconds: float = MEASURED) -> dict[str, float]:
    """Run the word count for so long, and take it down."""
    found = importlib.util.find_spec("heronpy.bench_topology")
    assert found is not None
    assert found.origin is not None
    registry = installed()
    (prepared,) = prepare(config, registry, found.origin, (), NAME)
    with open_state(config, registry) as state:
        start(config, state, prepared, wait=True)
        try:
            return _measure(state, seconds)
        finally:
            take_down(config, state, NAME)


def _measure(state: StateManager, seconds: float) -> dict[str, float]:
    with MasterClient(state, NAME) as master:
        time.sleep(WARM_UP)
        begun, before = time.monotonic(), master.status(ANSWER_TIMEOUT)
        time.sleep(seconds)
        spent, after = time.monotonic() - begun, master.status(ANSWER_TIMEOUT)
    words = _executed(after) - _executed(before)
    cpu = _cpu_seconds(after) - _cpu_seconds(before)
    return {
        "words_per_second": words / spent,
        "cpu_microseconds_per_word": 1e6 * cpu / max(words, 1),
        "seconds": spent,
    }


def _executed(status: TopologyStatus) -> int:
    return sum(instance.executed for instance in status.instances)


def _cpu_seconds(status: TopologyStatus) -> float:
    return sum(instance.cpu_seconds for instance in status.instances)
