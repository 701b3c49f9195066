"""The sinks that come with heronpy keep the contracts of sinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from heronpy.connectors import Sink
from heronpy.connectors.collected import CollectedSink
from heronpy.connectors.printed import PrintedSink
from heronpy.testing.contracts.sink import SinkContract, TransactionalSinkContract


class TestCollected(TransactionalSinkContract):
    @pytest.fixture(autouse=True)
    def place(self) -> None:
        self.sink_of_the_test = CollectedSink[Any]()

    def make(self) -> Sink[Any]:
        return self.sink_of_the_test

    def visible(self) -> Sequence[Any]:
        return self.sink_of_the_test.records


class TestPrinted(SinkContract):
    @pytest.fixture(autouse=True)
    def place(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.output, self.capture = "", capfd

    def make(self) -> Sink[Any]:
        return PrintedSink()

    def visible(self) -> Sequence[Any]:
        self.output += self.capture.readouterr().out
        return self.output.splitlines()
