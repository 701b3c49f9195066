"""A pytest plugin: tests that share what is dear to start run in one process, however many there are."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

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


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling:
    return LoadGroupScheduling(config, log)


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
