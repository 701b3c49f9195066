"""Spark without a cluster: topologies on this machine alone, and what is said when there is no Spark."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import sysconfig
from pathlib import Path

import psutil
import pytest
from support.clusters.spark_application import quick
from support.clusters.zookeeper import ZooKeeper
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.suite.needs import needs_java

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

TRICKLE = str(TOPOLOGIES / "trickle.py")


def executors(engine: Engine) -> dict[str, int]:
    """The first process of each container, by its number."""
    found = {}
    for process in engine.processes():
        with contextlib.suppress(psutil.NoSuchProcess):  # zombies as well
            words = process.cmdline()
            if "heronpy.container.executor.main" in words:
                found[words[-2]] = process.pid
    return found


def test_a_topology_runs_as_tasks_on_this_machine_and_ends_with_its_driver(engine: Engine) -> None:
    needs_java()
    engine.patience = 180.0
    conf = ("--set", f"scheduler.spark.conf={','.join(quick())}")
    engine.ok("submit", TRICKLE, "t", "--scheduler", "spark", *conf, "--timeout", "120s")
    first = executors(engine)
    assert set(first) == {"0", "1"}
    assert engine.status("t")["links"]["spark ui"].startswith("http://127.0.0.1:")
    assert engine.ok("logs", "t", "sink[0]", "-n", "1").endswith(" runs sink[0]\n")

    (host,) = [
        each for each in engine.processes() if "heronpy.container.scheduler.scheduler_host" in each.cmdline()
    ]
    host.kill()
    wait_until(lambda: not any(map(psutil.pid_exists, first.values())), 60, "all ended", engine.log_tails)
    wait_until(lambda: set(executors(engine)) == {"0", "1"}, 90, "all started anew", engine.log_tails)
    wait_until(lambda: engine.status("t")["state"] == "RUNNING", 60, "it runs", engine.log_tails)
    engine.ok("kill", "t")
    assert engine.leftovers() == []


def test_without_java_or_a_master_it_is_one_line_and_nothing_is_started(
    engine: Engine, zookeeper: ZooKeeper
) -> None:
    submit = ("submit", TRICKLE, "t", "--scheduler", "spark")
    assert engine.fails(*submit, JAVA_HOME="/nowhere") == (
        "error: Spark needs Java, and /nowhere/bin/java does not run: [Errno 2] No such file or directory:"
        " '/nowhere/bin/java' (try: install Java 17 or newer, or set JAVA_HOME)\n"
    )
    assert engine.fails(*submit, "--set", "scheduler.spark.master=spark:7077") == (
        "error: scheduler.spark.master is 'spark:7077', which is not a master URL of Spark"
        " (try: use spark://HOST:7077, or local[*])\n"
    )
    nobody = ("--set", "scheduler.spark.master=spark://127.0.0.1:1")
    assert engine.fails(*submit, *nobody) == (
        "error: the scheduler 'spark' uses other machines, which do not see the state manager 'localfs'"
        " (try: --state zookeeper --set state.zookeeper.hosts=…)\n"
    )
    root = zookeeper.fresh_root()
    shared = [f"{key}={value}" for key, value in zookeeper.settings(root).items()]
    assert engine.fails(*submit, *nobody, *(word for each in shared for word in ("--set", each))) == (
        f"warning: the nodes in ZooKeeper at {zookeeper.hosts} have no credentials: every account that"
        " reaches it decides what the topology runs (docs/zookeeper.md)\n"
        "error: no Spark Master answers at spark://127.0.0.1:1 (127.0.0.1:1: connection refused)"
        " (try: use the address that the Master's web page shows as its URL)\n"
    )
    assert engine.leftovers() == []
    assert zookeeper.nodes(root) == []


def test_without_pyspark_it_says_what_to_install_and_everything_else_works(
    engine: Engine, tmp_path: Path
) -> None:
    """All that is installed here, but for PySpark."""
    site = tmp_path / "site"
    site.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.lower().startswith(("pyspark", "__editable__")) and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    environment = {**engine.environment, "PYTHONPATH": f"{site}:{Path(__file__).parents[2]}"}

    def heronpy(*words: str) -> subprocess.CompletedProcess[str]:
        main = "import sys; from heronpy.cli.main import main; sys.exit(main())"
        command = [str(tmp_path / "bare" / "bin" / "python"), "-P", "-c", main, *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    done = heronpy("submit", TRICKLE, "t", "--scheduler", "spark")
    assert (done.returncode, done.stderr) == (
        1,
        "error: the scheduler 'spark' needs PySpark, which is not installed"
        " (try: pip install 'heron-py[spark]')\n",
    )
    assert engine.leftovers() == []
    assert "spark" in heronpy("plugins").stdout
