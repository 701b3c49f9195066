"""What keeps a topology from running on YARN is said in one line, before anything is started."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clusters.on_yarn import OnYarn
from support.clusters.yarn_cluster import LARGEST_MB, YarnCluster
from support.clusters.zookeeper import ZooKeeper
from support.running.engine import TOPOLOGIES

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

TRICKLE = (str(TOPOLOGIES / "trickle.py"), "Trickle")
NAME = "yarn.resourcemanager.address"
SITE = f"<configuration><property><name>{NAME}</name><value>%s</value></property></configuration>"


@pytest.fixture
def yarn(yarn_cluster: YarnCluster, reachable_zookeeper: ZooKeeper, tmp_path: Path) -> Iterator[OnYarn]:
    engine = OnYarn(tmp_path / "home", yarn_cluster, reachable_zookeeper)
    before = len(yarn_cluster.applications())
    yield engine
    assert engine.leftovers() == []
    assert len(yarn_cluster.applications()) == before


def refused(yarn: OnYarn, setting: str = "", **environment: str) -> str:
    """What `submit` says, behind its warning about a ZooKeeper without credentials."""
    yarn.environment |= environment
    told = yarn.fails("submit", *TRICKLE, *(("--set", setting) if setting else ()))
    warning, said = told.splitlines(keepends=True)
    assert warning.startswith("warning: the nodes in ZooKeeper at ")
    return said


def test_no_resource_manager(yarn: OnYarn, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        (tmp_path / "yarn-site.xml").write_text(SITE % address)
        said = refused(yarn, f"scheduler.yarn.conf={tmp_path}")
    assert said.startswith(f"error: no ResourceManager of YARN answers at {address}: ")
    assert said.endswith(
        "(try: set scheduler.yarn.conf (or HADOOP_CONF_DIR) to a folder with the cluster's yarn-site.xml)\n"
    )


def test_no_such_folder(yarn: OnYarn) -> None:
    assert "/no/where is not a folder with Hadoop's configuration" in refused(
        yarn, "scheduler.yarn.conf=/no/where"
    )


@pytest.mark.parametrize(
    ("queue", "complaint"),
    [
        (
            "defautl",
            "YARN has no queue 'defautl'; did you mean 'default'? (try: --set scheduler.yarn.queue=NAME)",
        ),
        ("closed", "YARN's queue 'closed' is STOPPED and takes no applications"),
        ("small", "YARN's queue 'small' is too full: "),
    ],
)
def test_a_queue_that_will_not_do(yarn: OnYarn, queue: str, complaint: str) -> None:
    assert complaint in refused(yarn, f"scheduler.yarn.queue={queue}")


def test_a_container_that_no_node_can_hold(yarn: OnYarn) -> None:
    said = refused(yarn, "topology.container.ram=9GB")
    assert (
        f"needs 9216 MB and 3 cores, and the largest that this cluster gives has {LARGEST_MB} MB and" in said
    )


def test_no_java(yarn: OnYarn) -> None:
    assert "YARN's client needs Java, and there is none (try: install" in refused(
        yarn, PATH="/no/where", JAVA_HOME=""
    )
    assert "no Java in JAVA_HOME (/no/where) (try: install" in refused(yarn, JAVA_HOME="/no/where")
