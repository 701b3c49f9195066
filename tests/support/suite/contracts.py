"""Contracts that run whole in one place, and in part where servers make them dear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_ClassT = TypeVar("_ClassT", bound=type)


def only(*kept: Callable[..., Any]) -> Callable[[_ClassT], _ClassT]:
    """A class of tests that inherits these tests of its contract, and no others; its own tests stay."""
    names = {test.__name__ for test in kept}

    def leave_out(tests: _ClassT) -> _ClassT:
        inherited = {name for name in dir(tests) if name.startswith("test_")} - vars(tests).keys()
        assert names <= inherited, f"no tests of the contract: {names - inherited}"
        for name in inherited - names:
            setattr(tests, name, None)
        return tests

    return leave_out
