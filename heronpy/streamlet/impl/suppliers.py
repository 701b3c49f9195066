"""A function as a generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heronpy.streamlet.context import Context
from heronpy.streamlet.generator import Generator


class Supplied(Generator):
    """Each return value of a function is an element, None as well."""

    def __init__(self, supplier: Callable[[], Any]) -> None:
        self._supplier = supplier

    def setup(self, context: Context) -> None:
        self._context = context

    def get(self) -> None:
        self._context.emit(self._supplier())
