"""Nothing of a sink stays open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.tasks.sinking import Life


@pytest.fixture(autouse=True)
def buried() -> Iterator[None]:
    yield
    Life.bury()
