"""heronpy bench: how many words a second this machine counts."""

from __future__ import annotations

import importlib.util
import time

import click

from heronpy.cli.options import takes_duration, takes_output, takes_settings
from heronpy.cli.reading.topologies import ANSWER_TIMEOUT, open_state
from heronpy.cli.submitting.starting import start, take_down
from heronpy.cli.submitting.submission import prepare
from heronpy.cli.views.output import count, echo_json
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.status import TopologyStatus

NAME = "bench"
#: seconds before the measurement begins: by then batches and credit have found their size
WARM_UP = 3.0
#: seconds measured, unless --for says otherwise
MEASURED = 10.0


@click.command("bench")
@takes_duration
@takes_output
@takes_settings
def command(config: Config, seconds: float | None, output: str) -> None:
    """Count words at full speed, one spout and one bolt, and say how many a second and at what cost."""
    found = importlib.util.find_spec("heronpy.bench_topology")
    assert found is not None
    assert found.origin is not None
    registry = installed()
    (prepared,) = prepare(config, registry, found.origin, (), NAME)
    with open_state(config, registry) as state:
        start(config, state, prepared, wait=True)
        try:
            measured = _measure(state, MEASURED if seconds is None else seconds)
        finally:
            take_down(config, state, NAME)
    if output == "json":
        echo_json(measured)
        return
    click.echo(
        f"{count(measured['words_per_second'])} words a second from spout to bolt,"
        f" {measured['cpu_microseconds_per_word']:.1f} CPU-microseconds a word in the two instances,"
        f" over {measured['seconds']:.0f} s"
    )


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
