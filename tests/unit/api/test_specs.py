"""Specs: what people write in a class body or hand to a builder, and poke at in between."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy import Bolt, Grouping, Spout, Stream, Topology, TopologyBuilder
from heronpy.custom_grouping import ICustomGrouping
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import DeclaredGrouping as PlanGrouping
from heronpy.kernel.plans import DeclaredStream as PlanStream
from heronpy.kernel.plans import Input, Source
from heronpy.logical_plan import to_logical_plan
from heronpy.spec import GlobalStreamId, HeronComponentSpec
from heronpy.stream import CustomGrouping, GroupingType
from heronpy.topology import TopologyType


class Words(Spout):
    outputs = ["word", Stream(fields=["message"], name="errors")]


class Count(Bolt):
    outputs = ["word", "count"]


class Lowest(ICustomGrouping):
    def choose_tasks(self, values: Any) -> list[int]:
        return [1]


def plan_of(topology: Any) -> Any:
    return to_logical_plan(topology, Source())


def test_a_class_body_is_a_topology() -> None:
    class WordCount(Topology):
        config = {"topology.stmgrs": 2}
        words = Words.spec(par=2)
        count = Count.spec(
            par=3,
            inputs={words: Grouping.fields("word"), words["errors"]: Grouping.ALL},
            config={"limit": 5},
        )

    plan = plan_of(WordCount)
    words, count = plan.components
    assert (plan.name, plan.config["topology.stmgrs"], plan.reliability) == ("WordCount", 2, "at_most_once")
    assert (words.name, words.kind, words.parallelism) == ("words", "spout", 2)
    assert words.outputs == (PlanStream("default", ("word",)), PlanStream("errors", ("message",)))
    assert words.class_path == f"{__name__}.Words"
    assert count.inputs == (
        Input("words", "default", PlanGrouping("fields", fields=("word",))),
        Input("words", "errors", PlanGrouping("all")),
    )
    assert count.config == {"topology.component.parallelism": 3, "limit": 5}


def test_a_builder_makes_the_same_topology() -> None:
    builder = TopologyBuilder("word-count")
    words = builder.add_spout("words", Words, 2)
    builder.add_bolt("count", Count, 2, inputs=[words], optional_outputs=["extra"])
    builder.set_config({"topology.reliability.mode": "ATLEAST_ONCE"})
    made = TopologyType(builder.topology_name, (Topology,), builder._construct_topo_class_dict())
    plan = plan_of(made)
    assert (plan.name, plan.reliability) == ("word-count", "at_least_once")
    assert list(builder._specs) == ["words", "count"]
    assert plan.component("count").inputs == (Input("words", "default", PlanGrouping("shuffle")),)
    assert plan.component("count").outputs == (PlanStream("default", ("word", "count", "extra")),)
    assert Count.outputs == ["word", "count"]


def test_inputs_may_change_until_the_topology_is_made_and_not_after() -> None:
    builder = TopologyBuilder("late")
    words = builder.add_spout("words", Words, 1)
    count = builder.add_bolt("count", Count, 1, inputs={})
    count.inputs[words["errors"]] = Grouping.ALL
    assert [(edge.stream.component_name, edge.stream.id) for edge in count.get_protobuf().inputs] == [
        ("words", "errors")
    ]
    made = TopologyType("late", (Topology,), builder._construct_topo_class_dict())
    count.inputs[words] = Grouping.ALL
    assert [edge.stream for edge in plan_of(made).component("count").inputs] == ["errors"]


def test_the_message_of_a_spec_tells_its_outputs() -> None:
    message = Words.spec("words").get_protobuf()
    assert (message.comp.name, message.comp.class_name) == ("words", f"{__name__}.Words")
    assert [(out.stream.id, [key.key for key in out.schema.keys]) for out in message.outputs] == [
        ("default", ["word"]),
        ("errors", ["message"]),
    ]


def test_a_topology_inherits_components_and_a_base_without_any_is_fine() -> None:
    class Base(Topology):
        config = {"topology.debug": True}

    class First(Base):
        words = Words.spec()

    class Second(First):
        count = Count.spec(inputs=[First.words])

    assert Base._heron_specs == []
    assert [component.name for component in plan_of(Second).components] == ["words", "count"]
    assert plan_of(Second).config["topology.debug"] is True


def test_the_name_can_come_from_the_config() -> None:
    class Plain(Topology):
        config = {"topology.name": "fancy"}
        words = Words.spec()

    assert plan_of(Plain).name == "fancy"


def test_a_stream_id_stays_a_good_key_when_its_spec_gets_a_name() -> None:
    spec = Words.spec()
    key = spec["errors"]
    inputs = {key: 1}
    spec.name = "words"
    assert inputs[GlobalStreamId("words", "errors")] == 1
    assert (str(key), key.component_id) == ("words:errors", "words")
    assert key != GlobalStreamId("other", "errors")
    assert key != "words:errors"


@pytest.mark.parametrize(
    ("grouping", "kind"),
    [
        (Grouping.SHUFFLE, "shuffle"),
        (Grouping.ALL, "all"),
        (Grouping.LOWEST, "global"),
        (Grouping.GLOBAL, "global"),
        (Grouping.NONE, "none"),
        (Grouping.DIRECT, "direct"),
        (Grouping.LOCAL_OR_SHUFFLE, "local_or_shuffle"),
        (Grouping.custom("my.Grouping"), "custom"),
    ],
)
def test_every_grouping_reaches_the_plan(grouping: Any, kind: str) -> None:
    words = Words.spec("words")
    made = TopologyType("t", (Topology,), {"words": words, "count": Count.spec(inputs={words: grouping})})
    assert plan_of(made).component("count").inputs[0].grouping.kind == kind


def test_a_custom_grouping_is_an_object_a_class_or_a_path() -> None:
    assert Grouping.custom("my.Grouping").class_path == "my.Grouping"
    assert Grouping.custom(Lowest).class_path == f"{__name__}.Lowest"
    pickled = Grouping.custom(Lowest())
    assert isinstance(pickled, CustomGrouping)
    assert pickled.gtype is GroupingType.CUSTOM
    assert pickled.python_serialized
    with pytest.raises(TypeError, match="takes an ICustomGrouping"):
        Grouping.custom(7)


def test_fields_take_names_or_one_list() -> None:
    assert Grouping.fields("a", "b") == Grouping.fields(["a", "b"])
    with pytest.raises(ValueError, match="at least one"):
        Grouping.fields()
    with pytest.raises(TypeError, match="got 3"):
        Grouping.fields("a", 3)


@pytest.mark.parametrize("par", [0, -1, 1.0, "2", True, None])
def test_parallelism_is_checked_where_it_is_written(par: Any) -> None:
    with pytest.raises(DefinitionError, match="parallelism of 'words' must be an integer of at least 1"):
        Words.spec("words", par=par)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fields": "word"}, "fields of a stream must be a list of names, got 'word'"),
        ({"fields": ["a", 1]}, "a field name must be a string, got 1"),
        ({"name": None}, "a stream name must be a string, got None"),
        ({"direct": 1}, "direct must be True or False, got 1"),
    ],
)
def test_a_stream_refuses_what_it_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Stream(**arguments)


def test_outputs_gather_plain_names_in_the_default_stream() -> None:
    spec = HeronComponentSpec("s", "m.C", True, 1)
    spec.outputs = ["a", Stream(["x"], name="other"), Stream(["b", "c"])]
    assert [(stream.stream_id, stream.fields) for stream in spec.streams()] == [
        ("default", ["a", "b", "c"]),
        ("other", ["x"]),
    ]
    assert spec.get_out_streamids() == {"default", "other"}
    spec.outputs = "a"
    with pytest.raises(TypeError, match="outputs of spout 's' must be a list"):
        spec.get_out_streamids()


def test_mistakes_name_the_component() -> None:
    words = Words.spec("words")
    with pytest.raises(
        DefinitionError, match=r"spout 'words' has no stream 'error'; did you mean 'errors'\?"
    ):
        _ = words["error"]
    with pytest.raises(TypeError, match=r"inputs of bolt 'count' must be \{spec: grouping\} or a list"):
        Count.spec("count", inputs=words).edges()
    with pytest.raises(DefinitionError, match=r"bolt 'count' reads .* with 'shuffle', which is no grouping"):
        Count.spec("count", inputs={words: "shuffle"}).edges()
    with pytest.raises(
        DefinitionError,
        match=r"must be a spec or one of its streams .*, got 'words' \(try: write words without quotes\)",
    ):
        Count.spec("count", inputs=["words"]).edges()


def test_a_spec_left_outside_the_topology_is_noticed() -> None:
    outside = Words.spec()
    with pytest.raises(DefinitionError, match=r"bolt 'count' reads from spout .*Words, which is not part"):

        class Forgetful(Topology):
            count = Count.spec(inputs=[outside])


def test_two_components_of_one_name_are_refused_where_they_are_written() -> None:
    builder = TopologyBuilder("twins")
    builder.add_spout("words", Words, 1)
    with pytest.raises(DefinitionError, match="two components called 'words'"):
        builder.add_spout("words", Words, 1)
    with pytest.raises(ValueError, match="has two components called 'same'"):

        class Twins(Topology):
            one = Words.spec("same")
            two = Words.spec("same")


@pytest.mark.parametrize("name", ["", "Topology", None, 3])
def test_a_builder_needs_a_name(name: Any) -> None:
    with pytest.raises(ValueError, match="needs a name of its own"):
        TopologyBuilder(name)


def test_a_builder_refuses_what_is_no_spec() -> None:
    builder = TopologyBuilder("x")
    with pytest.raises(TypeError, match=r"add_spec takes what .* got None"):
        builder.add_spec(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs a name to be added"):
        builder.add_spec(Words.spec())
    with pytest.raises(TypeError, match="set_config takes a dict"):
        builder.set_config([])  # type: ignore[arg-type]


def test_a_builder_takes_the_names_of_attributes_that_a_topology_has() -> None:
    builder = TopologyBuilder("x")
    builder.add_spec(Words.spec("config"), Words.spec("write"), Words.spec("__doc__"))
    topology = builder.build()
    assert [spec.name for spec in topology._heron_specs] == ["config", "write", "__doc__"]
    assert callable(topology.write)


def test_a_class_without_spec_is_a_slip() -> None:
    with pytest.raises(ValueError, match=r"'count' of topology 't' is a class.*try: count = Words.spec\(\)"):
        TopologyType("t", (Topology,), {"words": Words.spec(), "count": Words})

    class Whole(Topology):
        class Inner(Words):
            pass

        inner = Inner.spec()

    assert [spec.name for spec in Whole._heron_specs] == ["inner"]


def test_a_component_cannot_take_the_place_of_write() -> None:
    with pytest.raises(ValueError, match="a component cannot be called 'write'"):
        TopologyType("t", (Topology,), {"write": Words.spec()})


def test_the_base_class_cannot_be_submitted() -> None:
    with pytest.raises(ValueError, match="Topology itself cannot be submitted"):
        Topology.write()


def test_run_by_hand_a_file_says_how_to_submit_it(capsys: pytest.CaptureFixture[str]) -> None:
    builder = TopologyBuilder("by-hand")
    builder.add_spout("words", Words, 1)
    builder.build_and_submit()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("by-hand is defined; to run it: heronpy submit ")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ATMOST_ONCE", "at_most_once"),
        ("ATLEAST_ONCE", "at_least_once"),
        ("EFFECTIVELY_ONCE", "effectively_once"),
        ("at_least_once", "at_least_once"),
        ("at-most-once", "at_most_once"),
    ],
)
def test_reliability_in_both_spellings(written: str, meant: str) -> None:
    made = TopologyType(
        "t", (Topology,), {"words": Words.spec(), "config": {"topology.reliability.mode": written}}
    )
    assert plan_of(made).reliability == meant


def test_unknown_reliability_and_key_groups_are_refused() -> None:
    def with_config(config: dict[str, Any]) -> Any:
        return TopologyType("t", (Topology,), {"words": Words.spec(), "config": config})

    with pytest.raises(
        ValueError, match=r"topology.reliability.mode is 'at_last_once'; did you mean 'at_least_once'"
    ):
        plan_of(with_config({"topology.reliability.mode": "at_last_once"}))
    with pytest.raises(ValueError, match=r"topology.key.groups must be an integer of at least 1, got 0"):
        plan_of(with_config({"topology.key.groups": 0}))
    assert plan_of(with_config({"topology.key.groups": 12})).key_groups == 12
