"""The runner `engine` keeps the contract of runners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from support.running.engine import Engine

from heronpy.testing.contracts.runner import RunnerContract


@pytest.mark.cluster
@pytest.mark.timeout(400)
class TestEngine(RunnerContract):
    runner = "engine"
    refuses: ClassVar[Mapping[str, str]] = {"sinks.collected": "sinks.collected"}
    home: ClassVar[Path]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def at_home(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """One home for all runs, of which nothing is left."""
        cls.home = tmp_path_factory.mktemp("home")
        engine = Engine(cls.home)
        try:
            yield
            assert engine.leftovers() == []
        finally:
            engine.close()

    def settings(self) -> Mapping[str, object]:
        # hundreds of stages: each with processes of its own they would only wait for each other
        return {"home": self.home, "topology.fuse": "container"}
