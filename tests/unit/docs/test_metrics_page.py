"""docs/metrics.md lists what the processes of a container send to its Metrics Manager, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tasks.plans import edge, plan_of

from heronpy.container.metrics_manager.main import MetricsManager
from heronpy.instances.counters import Counters
from heronpy.instances.process.control import Control, ProcessId
from heronpy.kernel.config import load_config
from heronpy.kernel.launch import Child, TopologyLaunch
from heronpy.kernel.plugin.opening import installed, open_state
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.paths import Tree
from heronpy.stream_manager.main import StreamManager

ROOT = Path(__file__).parent.parent.parent.parent
PAGE = (ROOT / "docs" / "metrics.md").read_text()
#: what the page calls a process → its label `component`
ROLES = {"a task": "words", "a Stream Manager": "stream-manager", "a Metrics Manager": "metrics-manager"}
#: the labels that every sample has
COMMON = {"topology", "container", "component", "task"}
#: who reports, kind, name, labels of its own
Metric = tuple[str, str, str, frozenset[str]]


class Reporters:
    """The three kinds of process that report metrics, in container 1, and what the sink `jsonl` got."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self._file = folder / "metrics" / "container-1.jsonl"
        config = load_config(os.devnull, environ={}, flags={"home": str(folder), "metrics.interval": "50ms"})
        sockets = folder / "s"
        (sockets / "1").mkdir(mode=0o700, parents=True)
        launch = TopologyLaunch("wordcount", "x", config.to_plain(), str(folder), str(sockets))
        state = open_state(config)
        stack.callback(state.close)
        state.set(Tree("wordcount").physical_plan, plan_of(edge("shuffle"), par=2).to_json())
        self._reactor = Reactor()
        stack.callback(self._reactor.close)
        here, there, ours = (stack.enter_context(Transport()) for _ in range(3))
        metrics = Child("metrics_manager", "metrics-manager", container=1, incarnation=1, lifeline=-1)
        interval = config["metrics.interval"]
        manager = MetricsManager(launch, metrics, state, self._reactor, here, interval)
        manager.startup()
        manager.add_sink("jsonl", installed(), config)
        stack.callback(manager.close)
        stream = Child("stream_manager", "stream-manager", container=1, incarnation=1, lifeline=-1)
        StreamManager(launch, stream, config, state, self._reactor, there).startup()
        process = ProcessId(slot=1, incarnation=1)
        self._control = Control(ours, sockets / "1", process, [1], -1, 30.0, 1.0, lambda: None)
        count_one_of_each(self._control.reports[1].counters)

    def metrics(self) -> set[Metric]:
        """Everything that the three have reported, once each of them has."""
        self._control._send_metrics()
        found: set[Metric] = set()
        while {role for role, *_ in found} != set(ROLES.values()):
            self._reactor.turn(1.0)
            found = {_metric(line) for line in self._lines()}
        return found

    def _lines(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []


def _metric(line: str) -> Metric:
    row = json.loads(line)
    labels = frozenset(row) - COMMON - {"at", "name", "value", "kind"}
    return row["component"], row["kind"], row["name"], labels


def count_one_of_each(counters: Counters) -> None:
    """As of a task that has emitted, executed, dropped and so on."""
    counters.emitted["default"] = counters.dropped["default"] = 1
    counters.executed["words", "default"] = 1
    counters.custom["mine"] = 1.0
    counters.held_up_seconds = lambda: {"count[0]": 1.0}
    counters.event_time = lambda: (1.0, 2.0)


def documented() -> set[Metric]:
    """The table of the page."""
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line.startswith("| a ")
    ]
    assert [role for role, *_ in table] == list(ROLES)
    return {
        (ROLES[role], kind, name, frozenset(re.findall(r"`(\w+)`", by)))
        for role, *cells in table
        for kind, cell in zip(("counter", "gauge"), cells, strict=True)
        for name, by in re.findall(r"`(\w+)`(?: \(by ([^),]*))?", cell)
    }


@pytest.fixture
def reporters(tmp_path: Path) -> Iterator[Reporters]:
    with contextlib.ExitStack() as stack:
        yield Reporters(tmp_path, stack)


def test_every_metric_is_documented_with_its_labels_and_no_other(reporters: Reporters) -> None:
    assert documented() == reporters.metrics()


def test_no_other_process_reports_metrics() -> None:
    tops = ("cli", "container", "heronpy", "instances", "kernel", "plugins", "stream_manager")
    modules = [path for top in tops for path in (ROOT / top).rglob("*.py")]
    senders = {str(path.relative_to(ROOT)) for path in modules if "MetricsReport(" in path.read_text()}
    assert senders == {
        "container/metrics_manager/main.py",
        "instances/process/control.py",
        "stream_manager/main.py",
    }
