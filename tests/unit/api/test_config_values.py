"""Config values arrive in the instance as they were given, whatever their type."""

from __future__ import annotations

import enum
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy import Spout, Topology
from heronpy.config_values import merged_config, split_config
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import LogicalPlan, Source
from heronpy.logical_plan import to_logical_plan
from heronpy.topology import TopologyType

texts = st.text(st.characters(exclude_categories=()), max_size=5)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.binary(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)
keys = st.text("abc.", min_size=1, max_size=8)


class Words(Spout):
    outputs = ["word"]


class Colour(enum.IntEnum):
    RED = 1


def shipped(topology_config: dict[str, Any], component_config: dict[str, Any]) -> dict[str, Any]:
    """The config of a component after the plan went through the state tree."""
    made: Any = TopologyType(
        "shipped", (Topology,), {"words": Words.spec(config=component_config), "config": topology_config}
    )
    plan = to_logical_plan(made, Source())
    return merged_config(LogicalPlan.from_json(plan.to_json()), "words")


def shape(value: object) -> object:
    """The value with the types of all its parts, since 1 == 1.0 == True."""
    if isinstance(value, dict):
        return {(type(key), key): shape(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [shape(part) for part in value]
    return type(value), value


@given(st.dictionaries(keys, values, max_size=4))
def test_every_value_keeps_its_type_and_worth(config: dict[str, Any]) -> None:
    arrived = shipped({}, config)
    assert {key: shape(arrived[key]) for key in config} == {
        key: shape(value) for key, value in config.items()
    }


@given(st.dictionaries(keys, scalars, max_size=4), st.dictionaries(keys, scalars, max_size=4))
def test_the_component_overrides_the_topology(topology: dict[str, Any], component: dict[str, Any]) -> None:
    arrived = shipped(topology, component)
    assert {key: arrived[key] for key in {**topology, **component}} == {**topology, **component}


def test_what_json_cannot_hold_is_pickled() -> None:
    config = {"plain": [1, {"a": None}], "set": {1, 2}, "colour": Colour.RED, "nan": math.nan, "tuple": (1,)}
    plain, opaque = split_config(config, "x")
    assert list(plain) == ["plain"]
    assert list(opaque) == ["set", "colour", "nan", "tuple"]
    assert shipped({}, {"colour": Colour.RED})["colour"] is Colour.RED
    assert shipped({}, {"function": lambda: 5})["function"]() == 5


def test_what_cannot_be_sent_is_named_at_submit() -> None:
    with pytest.raises(DefinitionError, match=r"config 'lock' of spout 'words' cannot be sent .* initialize"):
        shipped({}, {"lock": threading.Lock()})
    with pytest.raises(DefinitionError, match="has the key 3: keys must be strings"):
        shipped({}, {3: "x"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="config of 'words' must be a dict, got 5"):
        Words.spec("words", config=5)  # type: ignore[arg-type]


def test_the_defaults() -> None:
    assert shipped({}, {}) == {
        "topology.debug": False,
        "topology.stmgrs": 1,
        "topology.message.timeout.secs": 30,
        "topology.component.parallelism": 1,
        "topology.max.spout.pending": 100,
        "topology.reliability.mode": "ATMOST_ONCE",
        "topology.enable.message.timeouts": True,
        "topology.poison.deaths": 3,
    }
