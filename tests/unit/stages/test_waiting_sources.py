"""A source that can be waited for is not polled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heronpy.connectors import Chunk, Reader
from heronpy.stages.tasks.stage_spout import StageSpout


class Piped(Reader[str]):
    def assign(self, positions: Mapping[str, Any]) -> None: ...

    def poll(self, most: int) -> Chunk[str] | None:
        return None

    def fd(self) -> int | None:
        return 7


def test_a_stage_waits_for_the_descriptor_of_its_reader() -> None:
    stage = StageSpout.__new__(StageSpout)
    stage._reader = Piped()
    assert stage.fd() == 7
