"""Every test has a home of its own and leaves nothing behind: no process, no thread, no sockets folder."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from support.clusters.reachable import ReachableNetwork
from support.clusters.servers import running
from support.clusters.spark_cluster import SparkCluster
from support.clusters.yarn_cluster import YarnCluster
from support.clusters.yarn_jars import fetch_ahead
from support.clusters.zookeeper import ZooKeeper
from support.faults.power.synced_disk import compile_library

from heronpy.kernel.machine.processes import process
from heronpy.submissions import submissions

pytest_plugins = ["support.suite.groups", "support.suite.record"]

# A busy machine is no bug: examples may take their time. No run depends on what an earlier one has found.
settings.register_profile(
    "heronpy", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("heronpy")

#: how long what a test has ended may take to be gone
GRACE = 5.0


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Fetch YARN's servers, which takes a minute of waiting for downloads, while other tests run."""
    wanted = any("yarn_cluster" in getattr(item, "fixturenames", ()) for item in session.items)
    if wanted and not session.config.option.collectonly:
        threading.Thread(target=fetch_ahead, name="fetching YARN", daemon=True).start()


@pytest.fixture(scope="session")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A TMPDIR of this run alone, so that nobody else's folders are mistaken for ours; short, for sockets."""
    tmp_path_factory.getbasetemp()  # pytest's own stays where people look for it
    folder = Path(tempfile.mkdtemp(prefix="hp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        # sockets folders would be made there, where `nothing_left` does not look
        patch.delenv("XDG_RUNTIME_DIR", raising=False)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def nothing_left(temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    children, threads, folders = _children(), _threads(), _folders(temporary)
    yield
    assert _gone(lambda: _children() - children - running) == set(), "processes are left"
    assert _gone(lambda: _threads() - threads) == set(), "threads are left"
    assert _gone(lambda: _folders(temporary) - folders) == set(), "sockets folders are left"


@pytest.fixture(autouse=True)
def logging_unchanged() -> Iterator[None]:
    """A test that sets up logging as a process of the engine does must not do so for the tests after it."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.fixture(autouse=True)
def nothing_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that loads a file as an instance does must not make `run()` a no-op for the tests after it."""
    monkeypatch.setattr(submissions, "ignored", False)
    monkeypatch.setattr(submissions, "collected", None)
    monkeypatch.setattr(submissions, "pipelines", [])


@pytest.fixture(scope="session")
def synced_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What processes preload whose disk can lose its power, see support/faults/power/."""
    return compile_library(tmp_path_factory.mktemp("synced"))


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeper]:
    """One ZooKeeper server for all tests that want one."""
    yield from _started(ZooKeeper(1))


@pytest.fixture(scope="session")
def ensemble_of_the_run() -> Iterator[ZooKeeper]:
    yield from _started(ZooKeeper(3))


@pytest.fixture
def ensemble(ensemble_of_the_run: ZooKeeper) -> Iterator[ZooKeeper]:
    """Three ZooKeeper servers for all tests; those that a test kills run again when it is over."""
    yield ensemble_of_the_run
    ensemble_of_the_run.start()


@pytest.fixture(scope="session")
def network() -> Iterator[ReachableNetwork]:
    """Two machines beside this one, where clusters have their workers."""
    with ReachableNetwork(2) as made:
        yield made


@pytest.fixture(scope="session")
def reachable_zookeeper_of_the_run(network: ReachableNetwork) -> Iterator[ZooKeeper]:
    yield from _started(ZooKeeper(3, network.here))


@pytest.fixture
def reachable_zookeeper(reachable_zookeeper_of_the_run: ZooKeeper) -> Iterator[ZooKeeper]:
    """Three ZooKeeper servers that other machines reach; those that a test kills run again afterwards."""
    yield reachable_zookeeper_of_the_run
    reachable_zookeeper_of_the_run.start()


@pytest.fixture(scope="session")
def spark_cluster_of_the_run(network: ReachableNetwork) -> Iterator[SparkCluster]:
    yield from _started(SparkCluster(network))


@pytest.fixture
def spark_cluster(spark_cluster_of_the_run: SparkCluster) -> Iterator[SparkCluster]:
    """A Spark Master and two Workers for all tests; those that a test kills run again when it is over."""
    yield spark_cluster_of_the_run
    spark_cluster_of_the_run.start()


@pytest.fixture(scope="session")
def yarn_cluster_of_the_run(network: ReachableNetwork) -> Iterator[YarnCluster]:
    yield from _started(YarnCluster(network))


@pytest.fixture
def yarn_cluster(yarn_cluster_of_the_run: YarnCluster) -> Iterator[YarnCluster]:
    """A ResourceManager and two NodeManagers for all tests; those that a test kills run again afterwards."""
    yield yarn_cluster_of_the_run
    yarn_cluster_of_the_run.start()


class _Servers(Protocol):
    def start(self) -> None: ...

    def close(self) -> None: ...


_ServersT = TypeVar("_ServersT", bound=_Servers)


def _started(servers: _ServersT) -> Iterator[_ServersT]:
    try:
        servers.start()
        yield servers
    finally:
        servers.close()


def _gone(left: Callable[[], set[str]]) -> set[str]:
    """What is left after a grace for those that are about to end."""
    deadline = time.monotonic() + GRACE
    while (found := left()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def _children() -> set[str]:
    """Processes that were started here and run."""
    return {
        pid
        for thread in os.listdir("/proc/self/task")
        for pid in _read(f"/proc/self/task/{thread}/children").split()
        if (found := process(int(pid))) is not None and found.alive
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # the thread has ended meanwhile
        return ""


def _threads() -> set[str]:
    return {f"{each.name} {each.ident}" for each in threading.enumerate() if not each.daemon}


def _folders(temporary: Path) -> set[str]:
    return {path.name for path in temporary.glob("heronpy-*")}
