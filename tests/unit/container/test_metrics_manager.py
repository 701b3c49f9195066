"""A Metrics Manager on a real socket: reports come in, sinks get samples, and no sink can hurt it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pluggy
import pytest

from heronpy.container.metrics_manager.main import MetricsManager
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.launch import Child, TopologyLaunch
from heronpy.kernel.machine.addresses import METRICS_SOCKET, process_identity, socket_path
from heronpy.kernel.plans import Component, LogicalPlan, PhysicalPlan, PlacedTask
from heronpy.kernel.plugin import MetricSink, Registry, hookimpl, hookspecs
from heronpy.kernel.plugin.metric_sink import Sample
from heronpy.kernel.protocol import ContainerMetrics, MetricsReport, wrap
from heronpy.kernel.protocol import Sample as Sent
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.paths import Tree
from heronpy.plugins.metrics import hooks
from heronpy.plugins.state.localfs.manager import LocalFsStateManager


class Grumpy(MetricSink):
    """Starts, and then fails at everything."""

    def initialize(self, config: Config, topology: str, container: int, folder: str) -> None:
        pass

    def write(self, at: float, samples: Sequence[Sample]) -> None:
        msg = "no writing today"
        raise RuntimeError(msg)

    def close(self) -> None:
        msg = "no closing either"
        raise RuntimeError(msg)


class GrumpyPlugin:
    @hookimpl
    def heron_metric_sinks(self) -> Mapping[str, type[MetricSink]]:
        return {"grumpy": Grumpy}


class Container:
    """Container 1 of a topology with one task, as far as its Metrics Manager sees it."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.config = load_config(
            os.devnull, environ={}, flags={"home": str(folder), "plugins.prometheus.port": "-1"}
        )
        sockets = folder / "s"
        (sockets / "1").mkdir(mode=0o700, parents=True)
        launch = TopologyLaunch("words", "x", self.config.to_plain(), str(self.work), str(sockets))
        state = LocalFsStateManager()
        state.initialize(self.config)
        stack.callback(state.close)
        logical = LogicalPlan("words", (Component("count", "bolt", "m.Count", 1),))
        plan = PhysicalPlan("words", 1, logical, (PlacedTask(7, "count", 0, 1),), (), {})
        state.create(Tree("words").physical_plan, plan.to_json())
        self.reactor = Reactor()
        stack.callback(self.reactor.close)
        transport = stack.enter_context(Transport())
        child = Child("metrics_manager", "metrics-manager", container=1, incarnation=1, lifeline=-1)
        self.manager = MetricsManager(launch, child, state, self.reactor, transport, interval=0.02)
        path = socket_path(sockets / "1", METRICS_SOCKET)
        self.task = stack.enter_context(
            contextlib.closing(transport.dealer_local(path, process_identity(7, 1)))
        )

    def rows(self) -> list[tuple[str, str, float]]:
        """What the jsonl sink was given, in turn."""
        path = self.work / "metrics" / "container-1.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(row["component"], row["name"], row["value"]) for row in map(json.loads, lines)]

    def turn_until_told(self, value: float) -> None:
        while not any(row[2] == value for row in self.rows()):
            self.reactor.turn(1.0)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    with contextlib.ExitStack() as stack:
        yield Container(tmp_path, stack)


@pytest.fixture
def registry() -> Registry:
    plugins = pluggy.PluginManager(hookspecs.PROJECT)
    plugins.add_hookspecs(hookspecs)
    plugins.register(hooks)
    plugins.register(GrumpyPlugin())
    return Registry(plugins)


def test_reports_reach_the_good_sinks_whatever_the_others_do(
    container: Container, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    manager = container.manager
    manager.startup()
    for name in ("grumpy", "jsonnl", "prometheus", "jsonl"):
        manager.add_sink(name, registry, container.config)
    assert "no metric sink plugin named 'jsonnl'; did you mean 'jsonl'?" in caplog.text
    assert "plugins.prometheus.port must be from 0 to 65534, got '-1'" in caplog.text

    for value in (5.0, 6.0):
        sent = [Sent(name="emitted", value=value, kind="counter", labels={"stream": "default"})]
        container.task.send([b"no protobuf"])
        container.task.send([wrap(MetricsReport(task=7, incarnation=1, samples=sent))])
        container.turn_until_told(value)
    rejected = {("metrics-manager", "rejected", count) for count in (0.0, 1.0, 2.0)}
    assert set(container.rows()) - rejected == {("count", "emitted", 5.0), ("count", "emitted", 6.0)}
    assert ("metrics-manager", "rejected", 2.0) in container.rows()

    manager.close()
    assert "no writing today" in caplog.text
    assert "no closing either" in caplog.text
    assert "dropped a control message from process 7 (incarnation 1): not a control message" in caplog.text


def test_the_master_is_told_what_has_changed_and_now_and_then_all(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager, now = container.manager, [1000.0]
    told: list[list[int | str]] = []

    def send(metrics: ContainerMetrics) -> None:
        told.append([report.task or report.source for report in metrics.reports])

    monkeypatch.setattr(manager._master, "send", send)
    monkeypatch.setattr("heronpy.container.metrics_manager.main.time.monotonic", lambda: now[0])

    def passes(count: int, value: float) -> list[list[int | str]]:
        told.clear()
        for _ in range(count):
            manager._take(MetricsReport(task=7, incarnation=1, samples=[Sent(name="emitted", value=value)]))
            manager._pass_on()
            now[0] += 1.0
        return list(told)

    both = ["metrics-manager", 7]
    assert [sorted(each, key=str) for each in passes(1, 1.0)] == [sorted(both, key=str)]
    passes(9, 1.0)
    assert [sorted(each, key=str) for each in passes(1, 1.0)] == [sorted(both, key=str)], "the tenth"
    assert passes(5, 1.0) == [], "nothing has changed for longer than the master needs to see it"
    assert passes(5, 2.0)[:4] == [[7]] * 4
    manager._tell_all()
    assert sorted(passes(1, 2.0)[0], key=str) == sorted(both, key=str), "to a new master"
