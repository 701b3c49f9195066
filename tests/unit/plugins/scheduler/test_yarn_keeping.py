"""Containers of an earlier ApplicationMaster: whom YARN tells of is kept, and not given back for that."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy.plugins.scheduler.yarn.master import Master


class Id(str):
    """As Java's: compared by a method."""

    def equals(self, other: object) -> bool:
        return self == other

    def toString(self) -> str:  # noqa: N802
        return str(self)


class Container:
    def __init__(self, number: int, name: str) -> None:
        self._number, self._id = number, Id(name)

    def getAllocationRequestId(self) -> int:  # noqa: N802
        return self._number + 1

    def getId(self) -> Id:  # noqa: N802
        return self._id

    def getNodeId(self) -> Id:  # noqa: N802
        return Id("node")


class Manager:
    def __init__(self) -> None:
        self.released: list[str] = []

    def releaseAssignedContainer(self, container: Id) -> None:  # noqa: N802
        self.released.append(container)


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch) -> Any:
    made: Any = Master.__new__(Master)
    made._held, made._asked, made._manager = {}, {}, Manager()
    monkeypatch.setattr(Master, "_look", lambda self, held: "runs")
    return made


def test_one_that_is_told_of_again_stays(master: Any) -> None:
    for _ in range(2):
        master._keep(Container(2, "first"))
    assert {where: held.id for where, held in master._held.items()} == {2: "first"}
    assert master._manager.released == []


def test_another_with_its_number_is_given_back(master: Any) -> None:
    master._keep(Container(2, "first"))
    master._keep(Container(2, "second"))
    assert {where: held.id for where, held in master._held.items()} == {2: "first"}
    assert master._manager.released == ["second"]
