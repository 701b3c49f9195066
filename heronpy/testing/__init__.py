"""For tests: run a topology in this very process (`TopologyTest`), and contracts that plugins keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heronpy.testing.clock import Clock
    from heronpy.testing.run import Counts, TopologyTest

__all__ = ["Clock", "Counts", "TopologyTest"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module 'heronpy.testing' has no attribute {name!r}"
        raise AttributeError(msg)
    from heronpy.testing import clock, run  # at first use: the contracts need none of it

    return clock.Clock if name == "Clock" else getattr(run, name)
