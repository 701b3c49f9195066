"""Loading in this process leaves marks that no other test should see."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from heronpy.loading import user_module


@pytest.fixture(autouse=True)
def _clean_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(user_module, "_imported", {})
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("heronpy", "hypothesis")):
            del sys.modules[name]
