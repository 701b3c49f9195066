"""Nothing of a spout stays open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.tasks.ingesting import PREFIX, Life

from heronpy import CheckpointStore
from heronpy.kernel.config import load_config
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.spark.shelf import Shelf


@pytest.fixture(autouse=True)
def buried() -> Iterator[None]:
    yield
    Life.bury()


@pytest.fixture
def store(tmp_path: Path) -> Callable[[], CheckpointStore]:
    config = load_config("/dev/null", environ={}, flags={"checkpoint.path": str(tmp_path / "store")})
    return lambda: open_checkpoint_store(config)


@pytest.fixture
def ingest(store: Callable[[], CheckpointStore]) -> Shelf:
    return Shelf(store(), PREFIX)
