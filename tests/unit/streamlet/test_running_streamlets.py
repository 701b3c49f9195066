"""From `Runner().run` to a pipeline: config, guarantees, and what commands make of it."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

import pytest
from support.pipelines.streamlets import Listed

from heronpy.config_values import merged_config
from heronpy.loading import LoadError, load_topologies
from heronpy.pipeline.graph import MapOp
from heronpy.stages.found_pipeline import submitted_stage
from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.resources import Resources
from heronpy.streamlet.runner import Runner

APACHE = Path(__file__).parents[2] / "fixtures/apache"

PATHS = {
    "streamlet.builder": "Builder",
    "streamlet.config": "Config",
    "streamlet.context": "Context",
    "streamlet.generator": "Generator",
    "streamlet.keyedwindow": "KeyedWindow",
    "streamlet.resources": "Resources",
    "streamlet.runner": "Runner",
    "streamlet.streamlet": "Streamlet",
    "streamlet.transformoperator": "TransformOperator",
    "streamlet.window": "Window",
    "streamlet.windowconfig": "WindowConfig",
    "connectors.mock.arraylooper": "ArrayLooper",
    "connectors.textfiles.textfilesgenerator": "TextFileGenerator",
}


@pytest.mark.parametrize("path", PATHS)
def test_apaches_modules_have_apaches_names(path: str) -> None:
    assert hasattr(importlib.import_module(f"heronpy.{path}"), PATHS[path])


def test_a_program_runs_its_streamlets_itself(caplog: pytest.LogCaptureFixture) -> None:
    builder = Builder()
    builder.new_source(Listed([("a", 1), None, "b"])).log()
    with caplog.at_level(logging.INFO, "heronpy.streamlet"):
        Runner().run("Logged", Config(), builder)
    assert [record.getMessage() for record in caplog.records] == ["('a', 1)", "b"]


def pipeline_of(config: Config) -> Any:
    builder = Builder()
    builder.new_source(Listed("ab")).log()
    return builder.build("p", config)


@pytest.mark.parametrize(
    ("semantics", "guarantee"),
    [
        (None, "at_most_once"),
        (Config.ATMOST_ONCE, "at_most_once"),
        (Config.ATLEAST_ONCE, "effectively_once"),
        (Config.EFFECTIVELY_ONCE, "effectively_once"),
    ],
)
def test_semantics_are_guarantees(semantics: int | None, guarantee: str) -> None:
    config = Config()
    if semantics is not None:
        config.set_delivery_semantics(semantics)
    assert pipeline_of(config).guarantee == guarantee


def test_a_config_is_that_of_the_topology() -> None:
    config = Config({"topology.debug": True})
    config.set_num_containers(2)
    config.set_container_resources(Resources().set_cpu(1.5).set_ram_in_gb(2))
    config.set_user_config("colour", "red")
    assert pipeline_of(config).config == {
        "topology.debug": True,
        "topology.stmgrs": 2,
        "topology.container.cpu": 1.5,
        "topology.container.ram": 2 * 1024**3,
        "colour": "red",
    }


def test_resources_are_cores_and_bytes() -> None:
    resources = Resources().set_cpu("2").set_ram_in_mb(3)  # type: ignore[arg-type]  # Apache takes text, too
    assert (resources.get_cpu(), resources.get_ram()) == (2.0, 3 * 1024**2)
    assert repr(resources) == "Resource {cpu: 2.000000, ram: 3145728}"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Config("topology.debug"),  # type: ignore[arg-type]
        lambda: Config().set_delivery_semantics(4),
        lambda: Config().set_container_resources(3),  # type: ignore[arg-type]
        lambda: pipeline_of(Config({"topology.reliability.mode": "NEVER"})),
        lambda: Runner().run(3, Config(), Builder()),  # type: ignore[arg-type]
        lambda: Runner().run("p", {}, Builder()),  # type: ignore[arg-type]
        lambda: Runner().run("p", Config(), None),  # type: ignore[arg-type]
    ],
)
def test_what_is_none_of_these_is_refused(wrong: Any) -> None:
    with pytest.raises(RuntimeError):
        wrong()


GUARDED = """
import sys
from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.runner import Runner

if __name__ == "__main__":
    words = ["to", "be"]
    builder = Builder()
    builder.new_source(lambda: words[0]).set_num_partitions(2).map(lambda word: word + words[1]).log()
    Runner().run(sys.argv[1], Config(), builder)
"""


def test_streamlets_in_the_main_part_of_a_file_travel_to_tasks_with_their_functions(tmp_path: Path) -> None:
    file = tmp_path / "guarded.py"
    file.write_text(GUARDED)
    (plan,) = load_topologies(file, ["Guarded"])
    assert (plan.name, plan.reliability) == ("Guarded", "at_most_once")
    assert [(c.name, c.parallelism) for c in plan.components] == [("supplier-1", 2), ("log-1", 2)]
    config = merged_config(plan, "supplier-1")
    found, stage = submitted_stage(config)
    assert [step.name for step in stage.steps] == ["supplier-1", "map-1"]
    add_be = found.plan["map-1"].op
    assert isinstance(add_be, MapOp)
    assert add_be.fn("or ") == "or be"
    assert submitted_stage(config)[0] is found


def test_apaches_example_without_a_name_says_so_itself() -> None:
    with pytest.raises(LoadError, match=r"called sys\.exit"):
        load_topologies(APACHE / "word_count_streamlet.py")
