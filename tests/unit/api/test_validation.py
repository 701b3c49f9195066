"""A topology that cannot run is refused with the component and the field that are to blame."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import Component, DeclaredGrouping, DeclaredStream, Input, LogicalPlan
from heronpy.kernel.plans.validate import validate

DEFAULT = DeclaredStream("default", ("word", "count"))
SPOUT = Component("words", "spout", "m.Words", 2, outputs=(DEFAULT,))


def bolt(name: str, *sources: str, kind: Any = "shuffle", **more: Any) -> Component:
    inputs = tuple(Input(source, "default", DeclaredGrouping(kind, **more)) for source in sources)
    return Component(name, "bolt", "__main__.Outer.Bolt", 2, inputs=inputs, outputs=(DEFAULT,))


def plan(*components: Component, **more: Any) -> LogicalPlan:
    return LogicalPlan("wordcount", components, **more)


def changed(component: Component, **changes: Any) -> Component:
    return msgspec.structs.replace(component, **changes)


def reading(stream: str, grouping: DeclaredGrouping = DeclaredGrouping("shuffle")) -> Component:  # noqa: B008 - immutable
    return changed(bolt("count", "words"), inputs=(Input("words", stream, grouping),))


def test_a_diamond_is_fine() -> None:
    diamond = plan(SPOUT, bolt("left", "words"), bolt("right", "words"), bolt("end", "left", "right"))
    assert validate(diamond) == []


BAD = {
    "no spout": (plan(bolt("count", "count")), "topology 'wordcount' has no spout: nothing would ever flow"),
    "a cycle": (
        plan(SPOUT, bolt("a", "words", "c"), bolt("b", "a"), bolt("c", "b")),
        "the components a -> b -> c -> a form a cycle, and tuples would never leave it",
    ),
    "a bolt that reads itself": (
        plan(SPOUT, bolt("a", "words", "a")),
        "the components a -> a form a cycle, and tuples would never leave it",
    ),
    "an unknown component": (
        plan(SPOUT, bolt("count", "wrods")),
        "bolt 'count' reads from 'wrods', which is not in the topology; did you mean 'words'?",
    ),
    "an unknown stream": (
        plan(SPOUT, reading("defualt")),
        "bolt 'count' reads stream 'defualt' of spout 'words', which does not declare it;"
        " did you mean 'default'?",
    ),
    "a source without outputs": (
        plan(changed(SPOUT, outputs=()), bolt("count", "words")),
        "bolt 'count' reads stream 'default' of spout 'words', which does not declare it"
        " (try: declare outputs = ['field', …] in its class)",
    ),
    "a field that is not there": (
        plan(SPOUT, bolt("count", "words", kind="fields", fields=("wrd",))),
        "bolt 'count' groups stream 'default' of 'words' by field 'wrd', which it does not have;"
        " did you mean 'word'?",
    ),
    "no field": (
        plan(SPOUT, bolt("count", "words", kind="fields")),
        "bolt 'count' groups stream 'default' of 'words' by no field (try: Grouping.fields('name'))",
    ),
    "direct grouping of an ordinary stream": (
        plan(SPOUT, bolt("count", "words", kind="direct")),
        "bolt 'count' reads stream 'default' of 'words' with direct grouping, but the stream is not direct"
        " (try: declare Stream(..., direct=True))",
    ),
    "ordinary grouping of a direct stream": (
        plan(changed(SPOUT, outputs=(DeclaredStream("default", ("word",), True),)), bolt("count", "words")),
        "bolt 'count' reads stream 'default' of 'words' with shuffle grouping, but the stream is direct"
        " (try: Grouping.DIRECT)",
    ),
    "a custom grouping of nothing": (
        plan(SPOUT, bolt("count", "words", kind="custom")),
        "bolt 'count' reads stream 'default' of 'words' with a custom grouping that names no class",
    ),
    "the same stream twice": (
        plan(SPOUT, bolt("count", "words", "words")),
        "bolt 'count' reads stream 'default' of 'words' twice",
    ),
    "two components of one name": (
        plan(SPOUT, SPOUT),
        "topology 'wordcount' has two components called 'words'",
    ),
    "two streams of one name": (
        plan(changed(SPOUT, outputs=(DEFAULT, DEFAULT))),
        "spout 'words' declares the stream 'default' twice",
    ),
    "two fields of one name": (
        plan(changed(SPOUT, outputs=(DeclaredStream("default", ("a", "b", "a")),))),
        "spout 'words' declares the field 'a' of stream 'default' twice",
    ),
    "a field without a name": (
        plan(changed(SPOUT, outputs=(DeclaredStream("default", ("",)),))),
        "spout 'words': stream 'default' has the field '', which is not a name",
    ),
    "parallelism 0": (
        plan(changed(SPOUT, parallelism=0)),
        "spout 'words': parallelism must be an integer of at least 1, got 0",
    ),
    "parallelism True": (
        plan(changed(SPOUT, parallelism=True)),
        "spout 'words': parallelism must be an integer of at least 1, got True",
    ),
    "a spout with inputs": (
        plan(changed(SPOUT, inputs=(Input("words", "default", DeclaredGrouping("shuffle")),))),
        "spout 'words' has inputs, and a spout reads from no component (try: make it a bolt)",
    ),
    "a bolt without inputs": (
        plan(SPOUT, bolt("count")),
        "bolt 'count' has no inputs: it would never get a tuple (try: add inputs={spec: Grouping.SHUFFLE})",
    ),
    "a class inside a function": (
        plan(changed(SPOUT, class_path="__main__.make.<locals>.Words")),
        "spout 'words': '__main__.make.<locals>.Words' is not the path of a class"
        " (try: give package.module.Class, defined at the top level of its file)",
    ),
    "a class without a module": (
        plan(changed(SPOUT, class_path="Words")),
        "spout 'words': 'Words' is not the path of a class"
        " (try: give package.module.Class, defined at the top level of its file)",
    ),
    "an unknown reliability": (
        plan(SPOUT, reliability="at_last_once"),
        "reliability is 'at_last_once'; did you mean 'at_least_once'?",
    ),
    "too few key groups": (
        plan(SPOUT, bolt("count", "words", kind="fields", fields=("word",)), key_groups=1),
        "bolt 'count' has parallelism 2, but there are only 1 key groups to share"
        " (try: set a larger topology.key.groups in the topology's config)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_run_is_named(case: str) -> None:
    bad, message = BAD[case]
    with pytest.raises(TopologyError) as raised:
        validate(bad)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "name",
    [
        "", "a/b", "../x", "..", "/etc", "a b", ".hidden", "-x", "ä", "x" * 129, "x" * 300, "a\n", "a\0b",
        "%2e%2e%2fx", "x; touch y", "$(touch y)", "`y`", "x|y", "x&y", "x*", "~", "a\\b", "C:x", "<b>",
        # look-alikes: a Cyrillic o, full-width stops, one-dot leaders, a fraction slash; and what is not seen
        "w\u043erds", "\uff0e\uff0e", "\u2024\u2024", "a\u2044b", "a\u200bb", "\u202eabc", "\u0661", "\ud800",
    ],
    ids=ascii,
)  # fmt: skip
def test_names_that_become_paths_are_checked(name: str) -> None:
    for bad in (
        msgspec.structs.replace(plan(SPOUT), name=name),
        plan(changed(SPOUT, name=name)),
        plan(changed(SPOUT, outputs=(DeclaredStream(name, ("a",)),))),
    ):
        with pytest.raises(TopologyError, match="is not a valid name"):
            validate(bad)


def test_what_will_surprise_is_a_warning() -> None:
    surprising = changed(SPOUT, outputs=(DeclaredStream("default", ("id", "word")),))
    silent = changed(SPOUT, name="silent", outputs=())
    assert validate(plan(surprising, silent)) == [
        "spout 'words': field 'id' of stream 'default' can only be read as tup[\"id\"],"
        " since tup.id is the tuple's own",
        "spout 'silent' declares no outputs, so it cannot emit",
    ]


def test_inputs_grouped_by_keys_of_different_lengths_are_a_warning() -> None:
    by_one, by_two = DeclaredGrouping("fields", ("word",)), DeclaredGrouping("fields", ("word", "count"))
    other = changed(SPOUT, name="others")
    joined = changed(
        bolt("join"), inputs=(Input("words", "default", by_one), Input("others", "default", by_two))
    )
    assert validate(plan(SPOUT, other, joined)) == [
        "bolt 'join' cannot use self.state: its inputs have different keys, (word) and (word, count)"
    ]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_a_graph_is_refused_exactly_when_it_has_a_cycle(edges: list[tuple[int, int]]) -> None:
    feeds: dict[int, set[int]] = {
        node: {source for source, target in edges if target == node} for node in range(8)
    }
    bolts = [bolt(f"b{node}", "words", *(f"b{source}" for source in sorted(feeds[node]))) for node in feeds]
    left = dict(feeds)
    while ready := [node for node in left if not left[node] & left.keys()]:
        for node in ready:
            del left[node]
    if left:
        with pytest.raises(TopologyError, match="form a cycle"):
            validate(plan(SPOUT, *bolts))
    else:
        assert validate(plan(SPOUT, *bolts)) == []
