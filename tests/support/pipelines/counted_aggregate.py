"""An aggregate whose operations are counted."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

from heronpy.pipeline import Aggregate


def counted(aggregate: Aggregate[Any, Any, Any], calls: Counter[str]) -> Aggregate[Any, Any, Any]:
    """The aggregate; `calls` has how often it did what."""

    def counting(word: str) -> Callable[..., Any] | None:
        function = getattr(aggregate, word)

        def call(*arguments: Any) -> Any:
            calls[word] += 1
            return function(*arguments)

        return None if function is None else call

    words = ("add", "combine", "deduct")
    functions: dict[str, Any] = {word: counting(word) for word in words}
    return dataclasses.replace(aggregate, **functions)
