"""What a topology asks of packing: its `topology.*` settings, read once into typed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from heronpy.kernel.config.units import parse_size
from heronpy.kernel.errors import PackingError, did_you_mean
from heronpy.kernel.plans import LogicalPlan, Resources
from heronpy.kernel.plans.packing import DEFAULT_INSTANCE, GB

STMGRS = "topology.stmgrs"
CONTAINER_CPU = "topology.container.cpu"
CONTAINER_RAM = "topology.container.ram"
CONTAINER_DISK = "topology.container.disk"
PADDING_PERCENTAGE = "topology.container.padding.percentage"
RAM_PADDING = "topology.container.ram.padding"
MAX_INSTANCES = "topology.container.max.instances"
CPU_MAP = "topology.component.cpumap"
RAM_MAP = "topology.component.rammap"
DISK_MAP = "topology.component.diskmap"
SORTING = "topology.packing.ffd.sorting.strategy"

Number = TypeVar("Number", int, float)
SortFirst = Literal["ram", "cpu"]


class PackingRequest(msgspec.Struct, frozen=True):
    """Everything the built-in algorithms look at."""

    topology: str
    #: instances per component, in the order they were declared
    counts: dict[str, int]
    stmgrs: int = 1
    #: sizes of a container, None where the user gave none
    container_cpu: float | None = None
    container_ram: int | None = None
    container_disk: int | None = None
    padding_percentage: float = 10.0
    ram_padding: int = GB
    max_instances: int = 10
    sort_first: SortFirst = "ram"
    #: sizes of an instance, by component, where the user gave them
    cpu: dict[str, float] = {}
    ram: dict[str, int] = {}
    disk: dict[str, int] = {}

    def instance(self, component: str) -> Resources:
        """What one instance of the component may use."""
        return Resources(
            self.cpu.get(component, DEFAULT_INSTANCE.cpu),
            self.ram.get(component, DEFAULT_INSTANCE.ram),
            self.disk.get(component, DEFAULT_INSTANCE.disk),
        )

    def dealing_order(self) -> list[str]:
        """Components as the dealing algorithms take them: most RAM asked for first, then by name."""
        return sorted(self.counts, key=lambda component: (-self.ram.get(component, 0), component))

    def checked_stmgrs(self) -> int:
        """The number of containers asked for, or a PackingError when there is not one instance for each."""
        total = sum(self.counts.values())
        if not 1 <= self.stmgrs <= total:
            msg = (
                f"{STMGRS} is {self.stmgrs}, but the topology has {total} instances:"
                f" set it to at least 1 and at most {total}"
            )
            raise PackingError(msg)
        return self.stmgrs


def read_request(topology: LogicalPlan) -> PackingRequest:
    """The request of a topology, or a PackingError that names the setting to change."""
    config = topology.config
    counts = topology.parallelism()
    return PackingRequest(
        topology.name,
        counts,
        stmgrs=_value(config, STMGRS, _whole, 1),
        container_cpu=_positive(config, CONTAINER_CPU, _cores),
        container_ram=_positive(config, CONTAINER_RAM, parse_size),
        container_disk=_positive(config, CONTAINER_DISK, parse_size),
        padding_percentage=_value(config, PADDING_PERCENTAGE, _percentage, 10.0),
        ram_padding=_value(config, RAM_PADDING, parse_size, GB),
        max_instances=_positive(config, MAX_INSTANCES, _whole) or 10,
        sort_first=_sort_first(config.get(SORTING, "ram")),
        cpu=_component_map(config, CPU_MAP, _cores, counts),
        ram=_ram_map(config, counts),
        disk=_component_map(config, DISK_MAP, parse_size, counts),
    )


def _value(config: Mapping[str, Any], key: str, parse: Callable[[Any], Number], default: Number) -> Number:
    return default if config.get(key) is None else _parsed(key, config[key], parse)


def _positive(config: Mapping[str, Any], key: str, parse: Callable[[Any], Number]) -> Number | None:
    if config.get(key) is None:
        return None
    number = _parsed(key, config[key], parse)
    if number <= 0:
        msg = f"{key} must be more than 0, got {config[key]!r}"
        raise PackingError(msg)
    return number


def _parsed(name: str, value: Any, parse: Callable[[Any], Number]) -> Number:
    try:
        return parse(value)
    except (TypeError, ValueError) as error:
        msg = f"{name} cannot be {value!r}: {error}"
        raise PackingError(msg) from error


def _component_map(
    config: Mapping[str, Any], key: str, parse: Callable[[Any], Number], known: Mapping[str, int]
) -> dict[str, Number]:
    sizes = {}
    for component, value in _entries(key, config.get(key)).items():
        if component not in known:
            msg = f"{key} names the component {component!r}, which the topology does not have"
            raise PackingError(msg + did_you_mean(component, known))
        sizes[component] = _parsed(f"{key} for component {component!r}", value, parse)
    return sizes


def _ram_map(config: Mapping[str, Any], known: Mapping[str, int]) -> dict[str, int]:
    sizes = _component_map(config, RAM_MAP, parse_size, known)
    for component, size in sizes.items():
        if size == 0:
            msg = f"component {component!r} cannot run in 0 bytes of RAM: give it some in {RAM_MAP}"
            raise PackingError(msg)
    return sizes


def _entries(key: str, value: Any) -> dict[str, Any]:
    """A map as a dict, or as the string "a:1,b:2" of the original API."""
    if isinstance(value, Mapping):
        return {str(component): size for component, size in value.items()}
    if value is not None and not isinstance(value, str):
        msg = f'{key} must be a dict or a string like "a:1,b:2", got {value!r}'
        raise PackingError(msg)
    entries = {}
    for entry in filter(None, (part.strip() for part in (value or "").split(","))):
        component, colon, size = entry.rpartition(":")
        if not colon:
            msg = f'{key} must look like "a:1,b:2", but {entry!r} has no colon'
            raise PackingError(msg)
        entries[component.strip()] = size.strip()
    return entries


def _sort_first(value: Any) -> SortFirst:
    strategies: dict[str, SortFirst] = {"ram": "ram", "ram_first": "ram", "cpu": "cpu", "cpu_first": "cpu"}
    found = strategies.get(str(value).lower())
    if found is None:
        msg = f"{SORTING} must be RAM_FIRST or CPU_FIRST, got {value!r}"
        raise PackingError(msg)
    return found


def _number(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        msg = "it must be a number"
        raise ValueError(msg) from None


def _whole(value: Any) -> int:
    number = _number(value)
    if isinstance(value, bool) or not number.is_integer():
        msg = "it must be a whole number"
        raise ValueError(msg)
    return int(number)


def _cores(value: Any) -> float:
    number = _number(value)
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        msg = "it must be a number of CPUs"
        raise ValueError(msg)
    return number


def _percentage(value: Any) -> float:
    number = _number(value)
    if isinstance(value, bool) or not 0 <= number < 100:
        msg = "it must be at least 0 and less than 100"
        raise ValueError(msg)
    return number
