"""From what the user wrote to the plan that the engine runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from heronpy.column_schema import check_key_types
from heronpy.config_values import merged_config, split_config
from heronpy.constants import (
    DEFAULT_TOPOLOGY_CONFIG,
    TOPOLOGY_COMPONENT_PARALLELISM,
    TOPOLOGY_DROPTUPLES_UPON_BACKPRESSURE,
    TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS,
    TOPOLOGY_KEY_GROUPS,
    TOPOLOGY_MAX_SPOUT_PENDING,
    TOPOLOGY_MESSAGE_TIMEOUT_SECS,
    TOPOLOGY_NAME,
    TOPOLOGY_POISON,
    TOPOLOGY_POISON_DEATHS,
    TOPOLOGY_RELIABILITY_MODE,
    TOPOLOGY_TICK_TUPLE_FREQ_SECS,
)
from heronpy.errors import DefinitionError
from heronpy.kernel.config.topology_keys import HEEDED
from heronpy.kernel.errors import did_you_mean
from heronpy.kernel.plans import Component, DeclaredGrouping, DeclaredStream, Input, LogicalPlan, Source
from heronpy.kernel.plans.logical import DEFAULT_KEY_GROUPS, GroupingKind, Reliability
from heronpy.spec import HeronComponentSpec
from heronpy.splits import declared_splits
from heronpy.stream import AnyGrouping, CustomGrouping, FieldsGrouping, GroupingType

if TYPE_CHECKING:
    from heronpy.topology import Topology

_KINDS: dict[GroupingType, GroupingKind] = {
    GroupingType.SHUFFLE: "shuffle",
    GroupingType.ALL: "all",
    GroupingType.LOWEST: "global",
    GroupingType.NONE: "none",
    GroupingType.DIRECT: "direct",
    GroupingType.LOCAL_OR_SHUFFLE: "local_or_shuffle",
}

#: spelt without separators: Apache's ATMOST_ONCE and our at_most_once are the same word
_RELIABILITY: dict[str, Reliability] = {
    "atmostonce": "at_most_once",
    "atleastonce": "at_least_once",
    "effectivelyonce": "effectively_once",
}


def to_logical_plan(
    topology: type[Topology], source: Source, overrides: Mapping[str, Any] = {}
) -> LogicalPlan:
    """The plan of a topology class, not validated yet. `overrides` go on top of what its file says."""
    config = {**topology._topo_config, **{key: overrides[key] for key in overrides if key in HEEDED}}
    name = str(overrides.get(TOPOLOGY_NAME, topology.topology_name))
    plain, opaque = split_config(config, f"topology {name!r}")
    plan = LogicalPlan(
        name=name,
        components=_overridden(topology._components, overrides),
        config=plain,
        opaque_config=opaque,
        reliability=_reliability(config[TOPOLOGY_RELIABILITY_MODE]),
        key_groups=_key_groups(config.get(TOPOLOGY_KEY_GROUPS, DEFAULT_KEY_GROUPS)),
        source=source,
    )
    components = tuple(
        msgspec.structs.replace(component, splits=declared_splits(spec, merged_config(plan, component.name)))
        for component, spec in zip(plan.components, topology._heron_specs, strict=True)
    )
    check_key_types(plan)
    return msgspec.structs.replace(plan, components=components)


def component_of(setting: str, names: Iterable[str]) -> str | None:
    """Which component a setting `component.NAME.KEY` is for; names may have dots in them, too."""
    fitting = [name for name in names if setting.startswith(f"component.{name}.")]
    return max(fitting, key=len, default=None)


def _overridden(components: tuple[Component, ...], overrides: Mapping[str, Any]) -> tuple[Component, ...]:
    given: dict[str, dict[str, Any]] = {component.name: {} for component in components}
    for setting, value in overrides.items():
        name = component_of(setting, given)
        if name is not None:
            given[name][setting.removeprefix(f"component.{name}.")] = value
    return tuple(
        msgspec.structs.replace(
            component,
            config={**component.config, **given[component.name]},
            opaque_config={
                key: value
                for key, value in component.opaque_config.items()
                if key not in given[component.name]
            },
        )
        for component in components
    )


def drops_when_full(plan: LogicalPlan, *, default: bool) -> bool:
    """Whether tuples that get no credit are thrown away; refused where nothing may be lost."""
    drops = _switch(plan.config, TOPOLOGY_DROPTUPLES_UPON_BACKPRESSURE, default=default)
    if drops and plan.reliability != "at_most_once":
        msg = f"topology {plan.name!r} is to run {plan.reliability} and to drop tuples when a reader is slow"
        raise DefinitionError(msg, hint=f"set {TOPOLOGY_DROPTUPLES_UPON_BACKPRESSURE} to False")
    return drops


def tree_limits(config: Mapping[str, Any]) -> tuple[float | None, int]:
    """The message timeout in seconds (None: no timeouts), and how many trees a spout may have pending."""
    timeout = _at_least(0.001, config, TOPOLOGY_MESSAGE_TIMEOUT_SECS)
    pending = int(_at_least(1, config, TOPOLOGY_MAX_SPOUT_PENDING))
    return timeout if _switch(config, TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS, default=True) else None, pending


def tick_seconds(config: Mapping[str, Any]) -> float:
    """Seconds between two calls of process_tick; 0 for none."""
    if not config.get(TOPOLOGY_TICK_TUPLE_FREQ_SECS):
        return 0.0
    return _at_least(0.001, config, TOPOLOGY_TICK_TUPLE_FREQ_SECS)


def poison_settings(plan: LogicalPlan, config: Mapping[str, Any]) -> tuple[str, int, float]:
    """What is done with a tuple that kills its task ("stop" or "skip"), after how many deaths, and how many
    seconds after a death it may come again.
    """
    default = "skip" if plan.reliability == "at_most_once" else "stop"
    mode = config.get(TOPOLOGY_POISON, default)
    if mode not in ("stop", "skip"):
        msg = f'{TOPOLOGY_POISON} must be "stop" or "skip", got {mode!r}'
        raise DefinitionError(msg)
    deaths = int(_at_least(1, config, TOPOLOGY_POISON_DEATHS))
    return mode, deaths, 2 * _at_least(0.001, config, TOPOLOGY_MESSAGE_TIMEOUT_SECS)


def _switch(config: Mapping[str, Any], key: str, *, default: bool) -> bool:
    word = str(config.get(key, default)).lower()  # Apache Heron's are often strings
    if word not in ("true", "false"):
        msg = f"{key} must be true or false, got {config[key]!r}"
        raise DefinitionError(msg)
    return word == "true"


def _at_least(least: float, config: Mapping[str, Any], key: str) -> float:
    value = config.get(key, DEFAULT_TOPOLOGY_CONFIG.get(key))
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if isinstance(value, bool) or not least <= number < math.inf:
        msg = f"{key} must be a number of at least {least:g}, got {value!r}"
        raise DefinitionError(msg)
    return number


def to_component(spec: HeronComponentSpec) -> Component:
    """One component as it is now; later changes of the spec do not reach it."""
    config: dict[str, Any] = {TOPOLOGY_COMPONENT_PARALLELISM: spec.parallelism, **(spec.custom_config or {})}
    plain, opaque = split_config(config, spec.label)
    return Component(
        name=spec.name or "",
        kind="spout" if spec.is_spout else "bolt",
        class_path=spec.python_class_path,
        parallelism=spec.parallelism,
        inputs=_inputs(spec),
        outputs=tuple(
            DeclaredStream(
                stream.stream_id,
                tuple(stream.fields),
                stream.direct,
                stream.schema.encoded() if stream.schema else b"",
            )
            for stream in spec.streams()
        ),
        config=plain,
        opaque_config=opaque,
        reads_columns=hasattr(spec.component_class, "process_columns"),
        hears_watermarks=hasattr(spec.component_class, "on_watermark"),
    )


def _inputs(spec: HeronComponentSpec) -> tuple[Input, ...]:
    inputs = []
    for source, grouping in spec.edges():
        if source.unnamed:
            msg = f"{spec.label} reads from {source.unnamed.label}, which is not part of the topology"
            raise DefinitionError(msg, hint="assign that spec in the same class body, or give it a name")
        inputs.append(Input(source.component_id, source.stream_id, _grouping(grouping)))
    return tuple(inputs)


def _grouping(grouping: AnyGrouping) -> DeclaredGrouping:
    if isinstance(grouping, FieldsGrouping):
        return DeclaredGrouping("fields", fields=tuple(grouping.fields))
    if isinstance(grouping, CustomGrouping):
        return DeclaredGrouping("custom", class_path=grouping.class_path, pickled=grouping.python_serialized)
    return DeclaredGrouping(_KINDS[grouping])


def _reliability(mode: object) -> Reliability:
    word = str(mode).lower().replace("_", "").replace("-", "")
    if word not in _RELIABILITY:
        hint = did_you_mean(
            str(mode), [*_RELIABILITY.values(), "ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"]
        )
        msg = f"{TOPOLOGY_RELIABILITY_MODE} is {mode!r}{hint}"
        raise DefinitionError(msg)
    return _RELIABILITY[word]


def _key_groups(value: object) -> int:
    if type(value) is not int or value < 1:
        msg = f"{TOPOLOGY_KEY_GROUPS} must be an integer of at least 1, got {value!r}"
        raise DefinitionError(msg)
    return value
