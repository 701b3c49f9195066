"""Apache Heron's import paths, our short names, and what importing costs."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import heronpy

PATHS = {
    "spout.spout": "Spout",
    "spout.base_spout": "BaseSpout",
    "bolt.bolt": "Bolt",
    "bolt.base_bolt": "BaseBolt",
    "bolt.window_bolt": "SlidingWindowBolt TumblingWindowBolt WindowContext",
    "component.base_component": "BaseComponent",
    "component.component_spec": "HeronComponentSpec GlobalStreamId",
    "stream": "Stream Grouping",
    "custom_grouping": "ICustomGrouping",
    "topology": "Topology TopologyBuilder TopologyType",
    "topology_context": "TopologyContext",
    "tuple": "Tuple TupleHelper",
    "state.state": "State HashMapState",
    "state.stateful_component": "StatefulComponent",
    "metrics": "IMetric CountMetric MultiCountMetric IReducer MeanReducer ReducedMetric MultiReducedMetric"
    " AssignableMetrics MultiAssignableMetrics MeanReducedMetric MultiMeanReducedMetric",
    "global_metrics": "incr safe_incr",
    "task_hook": "ITaskHook EmitInfo SpoutAckInfo SpoutFailInfo BoltExecuteInfo BoltAckInfo BoltFailInfo",
    "serializer": "IHeronSerializer PythonSerializer default_serializer",
    "api_constants": "TopologyReliabilityMode TOPOLOGY_TICK_TUPLE_FREQ_SECS",
}


@pytest.mark.parametrize("path", PATHS)
def test_apaches_modules_have_apaches_names(path: str) -> None:
    module = importlib.import_module(f"heronpy.api.{path}")
    assert [name for name in PATHS[path].split() if not hasattr(module, name)] == []


def test_they_are_the_same_classes_as_ours() -> None:
    from heronpy.api.bolt.bolt import Bolt
    from heronpy.api.spout.spout import Spout
    from heronpy.api.topology import Topology
    from heronpy.api.tuple import Tuple

    assert (Bolt, Spout, Topology, Tuple) == (heronpy.Bolt, heronpy.Spout, heronpy.Topology, heronpy.Tuple)


@pytest.mark.parametrize(
    "key",
    [
        "debug",
        "stmgrs",
        "message.timeout.secs",
        "enable.message.timeouts",
        "component.parallelism",
        "max.spout.pending",
        "tick.tuple.freq.secs",
        "auto.task.hooks",
        "serializer.classname",
        "reliability.mode",
        "stateful.checkpoint.interval.seconds",
        "stateful.start.clean",
        "container.padding.percentage",
        "container.ram.padding",
        "component.cpumap",
        "component.rammap",
        "component.diskmap",
        "name",
        "team.name",
        "team.email",
        "cap.ticket",
        "project.name",
        "component.output.bps",
        "worker.childopts",
        "additional.classpath",
    ],
)
def test_a_constant_is_its_key_in_capitals(key: str) -> None:
    constants = importlib.import_module("heronpy.api.api_constants")
    name = "TOPOLOGY_" + key.upper().replace(".", "_")
    assert getattr(constants, name) == f"topology.{key}"


def test_the_three_requests_and_the_modes() -> None:
    from heronpy.api import api_constants

    assert api_constants.TOPOLOGY_CONTAINER_CPU_REQUESTED == "topology.container.cpu"
    assert api_constants.TOPOLOGY_CONTAINER_RAM_REQUESTED == "topology.container.ram"
    assert api_constants.TOPOLOGY_CONTAINER_DISK_REQUESTED == "topology.container.disk"
    modes = api_constants.TopologyReliabilityMode
    assert (modes.ATMOST_ONCE, modes.ATLEAST_ONCE, modes.EFFECTIVELY_ONCE) == (
        "ATMOST_ONCE",
        "ATLEAST_ONCE",
        "EFFECTIVELY_ONCE",
    )


@pytest.mark.parametrize("name", heronpy.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(heronpy, name) is not None
    assert name in dir(heronpy)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'heronpy' has no attribute 'Blot'"):
        _ = heronpy.Blot


def test_importing_the_kernel_imports_nothing_else_of_ours() -> None:
    program = "import sys, heronpy.kernel; print(*sorted(n for n in sys.modules if n.startswith('heronpy')))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["heronpy", "heronpy.kernel"]
