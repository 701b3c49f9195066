"""What a hook can return instead of classes: where they are."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any


class ImportedLater(Mapping[str, Any]):
    """Classes by name, given as "module:Class": every process knows the names, and imports what it uses."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self._places[name].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
