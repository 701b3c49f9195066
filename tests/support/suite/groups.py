"""A pytest plugin: tests that share what is dear to start run in one process, however many there are.

Those that may take long are begun first, so that no worker is left with one of them at the end.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

#: fixtures that start servers once for a run, and the group of the tests that use them; the first one counts
SERVERS = {
    "yarn_cluster_of_the_run": "yarn",
    "spark_cluster_of_the_run": "spark",
    "reachable_zookeeper_of_the_run": "zookeeper",
    "ensemble_of_the_run": "zookeeper",
    "zookeeper": "zookeeper",
}
#: who shares a fixture of these scopes
SHARING: dict[str, type[pytest.Collector]] = {"class": pytest.Class, "module": pytest.Module}


def group_of(item: pytest.Function) -> str | None:
    """Tests of one group share what is dear to start, and so run in one process."""
    for fixture, server in SERVERS.items():
        if fixture in item.fixturenames:
            return server
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        if (sharing := SHARING.get(definitions[-1].scope)) and (parent := item.getparent(sharing)):
            return parent.nodeid
    return None


#: when so few are left, workers have no supply of them any more
LAST = 40


class EvenEnd(LoadGroupScheduling):  # type: ignore[misc]
    """Gives a worker one test beyond the one that it runs when few are left: another may be idle before."""

    def _reschedule(self, node: WorkerController) -> None:
        supplied = self._pending_of(self.assigned_work[node]) > 1
        if not (supplied and 0 < len(self.workqueue) < LAST):
            super()._reschedule(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling:
    return EvenEnd(config, log)


def may_take(item: pytest.Item) -> float:
    """Seconds after which the test is given up: long ones have longer than usual."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark else float(item.config.getini("timeout"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Groups are given to workers by their size, tests without one in this order."""
    if hasattr(config, "workerinput"):
        items.sort(key=may_take, reverse=True)


def _id_with_group(item: pytest.Item) -> str:
    group = group_of(item) if isinstance(item, pytest.Function) else None
    return f"{item.nodeid}@{group}" if group else item.nodeid


class Grouped(NamedTuple):
    """What a worker tells the scheduler of a test."""

    nodeid: str


@pytest.hookimpl(wrapper=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None]:
    """The scheduler knows tests by the ids that workers send here, so these, and no others, name groups.

    The mark xdist_group does not do: pytest 9.2 ignores the ids that xdist gives to tests with it.
    """
    if not hasattr(session.config, "workerinput"):
        return (yield)
    items = session.items
    session.items = [Grouped(_id_with_group(item)) for item in items]  # type: ignore[misc]
    try:
        return (yield)
    finally:
        session.items = items
