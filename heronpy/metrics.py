"""Metrics that a component registers through its context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class IMetric:
    """A number, or a dict of numbers, that is read and started over at every report."""

    def get_value_and_reset(self) -> Any:
        """The value since the last call."""
        msg = f"{type(self).__name__} must define get_value_and_reset()"
        raise NotImplementedError(msg)


class CountMetric(IMetric):
    """Counts."""

    def __init__(self) -> None:
        self.value: float = 0

    def incr(self, to_add: float = 1) -> None:
        """Increment the counter."""
        self.value += to_add

    def get_value_and_reset(self) -> float:
        value, self.value = self.value, 0
        return value


class MultiCountMetric(IMetric):
    """Counts by key."""

    def __init__(self) -> None:
        self.value: dict[Any, CountMetric] = {}

    def add_key(self, key: Any) -> None:
        """Report this key from now on, even while it is zero."""
        self.incr(key, 0)

    def incr(self, key: Any, to_add: float = 1) -> None:
        """Increment one key."""
        if key not in self.value:
            self.value[key] = CountMetric()
        self.value[key].incr(to_add)

    def get_value_and_reset(self) -> dict[Any, float]:
        return {key: metric.get_value_and_reset() for key, metric in list(self.value.items())}


class IReducer:
    """Folds values into one."""

    def init(self) -> None:
        """Start over."""

    def reduce(self, value: Any) -> None:
        """Take one more value."""
        msg = f"{type(self).__name__} must define reduce(value)"
        raise NotImplementedError(msg)

    def extract(self) -> Any:
        """The result over the values so far."""
        msg = f"{type(self).__name__} must define extract()"
        raise NotImplementedError(msg)


class MeanReducer(IReducer):
    """The mean; None without values."""

    def __init__(self) -> None:
        self.init()

    def init(self) -> None:
        self.sum = 0.0
        self.count = 0

    def reduce(self, value: Any) -> None:
        self.sum += float(value)
        self.count += 1

    def extract(self) -> float | None:
        return self.sum / self.count if self.count else None


class ReducedMetric(IMetric):
    """A reducer as a metric."""

    def __init__(self, reducer_cls: Callable[[], IReducer]) -> None:
        self.reducer = reducer_cls()
        self.reducer.init()

    def update(self, value: Any) -> None:
        """Take one more value."""
        self.reducer.reduce(value)

    def get_value_and_reset(self) -> Any:
        value = self.reducer.extract()
        self.reducer.init()
        return value


class MultiReducedMetric(IMetric):
    """A reducer per key."""

    def __init__(self, reducer: Callable[[], IReducer]) -> None:
        self.reducer = reducer
        self.value: dict[Any, ReducedMetric] = {}

    def add_key(self, key: Any) -> None:
        """Report this key from now on, even without values."""
        if key not in self.value:
            self.value[key] = ReducedMetric(self.reducer)

    def update(self, key: Any, value: Any) -> None:
        """Take one more value of a key."""
        self.add_key(key)
        self.value[key].update(value)

    def get_value_and_reset(self) -> dict[Any, Any]:
        return {key: metric.get_value_and_reset() for key, metric in list(self.value.items())}


class AssignableMetrics(IMetric):
    """A value that stays until it is set again."""

    def __init__(self, init_val: Any) -> None:
        self.value = init_val

    def update(self, value: Any) -> None:
        """Set it."""
        self.value = value

    def get_value_and_reset(self) -> Any:
        return self.value


class MultiAssignableMetrics(IMetric):
    """A value per key that stays until it is set again."""

    def __init__(self) -> None:
        self.map: dict[Any, AssignableMetrics] = {}

    def update(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        if key not in self.map:
            self.map[key] = AssignableMetrics(value)
        self.map[key].update(value)

    def get_value_and_reset(self) -> dict[Any, Any]:
        return {key: metric.get_value_and_reset() for key, metric in list(self.map.items())}


def MeanReducedMetric() -> ReducedMetric:  # noqa: N802 - Apache's name
    """The mean of the values between two reports."""
    return ReducedMetric(MeanReducer)


def MultiMeanReducedMetric() -> MultiReducedMetric:  # noqa: N802 - Apache's name
    """The mean per key of the values between two reports."""
    return MultiReducedMetric(MeanReducer)
