"""Tables of keyed state in columns: what a dict would hold, for whole columns of keys, in C and in Python."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.suite.needs import needs_compiled_module

from heronpy.kernel.errors import KeyNotOwned
from heronpy.kernel.flow import compiled
from heronpy.kernel.flow.keys import encode_key, key_group
from heronpy.kernel.tables import frozen_table, key_columns, key_table
from heronpy.kernel.tables.key_table import KeyTable

GROUPS = 8
WORD = pa.schema([("word", pa.string())])
PAIR = pa.schema([("word", pa.string()), ("number", pa.int64())])
REAL = pa.schema([("number", pa.float64())])
COUNTS = {"count": np.int64, "most": np.float64}

WORDS = st.none() | st.text("ab", max_size=3)
KEYS: dict[int, tuple[Any, st.SearchStrategy[tuple[Any, ...]]]] = {
    0: (WORD, st.tuples(WORDS)),
    1: (PAIR, st.tuples(WORDS, st.none() | st.integers(-2, 2))),
    2: (REAL, st.tuples(st.sampled_from([0.0, -0.0, 1.0, 1.5, float("nan"), 1e300, None]))),
}
ROWS = {
    number: st.lists(st.tuples(keys, st.integers(-5, 5)), max_size=12) for number, (_, keys) in KEYS.items()
}
DEEDS = st.sampled_from(["add", "set", "merge", "remove", "drop", "reload"])


@pytest.fixture(params=["c", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Tables that are made in the test are of this way."""
    if request.param == "python":
        monkeypatch.setattr(compiled, "columns", None)
    else:
        needs_compiled_module()
    return str(request.param)


def saved(table: KeyTable, groups: Collection[int]) -> dict[int, list[bytes]]:
    """Key group → its entries."""
    found: dict[int, list[bytes]] = {}
    for step in table.frozen().parts(groups):
        for group, part in step:
            found.setdefault(group, []).append(part.to_bytes())
    return found


class Model:
    """The same in a dict, row by row."""

    def __init__(self) -> None:
        self.entries: dict[bytes, dict[str, float]] = {}
        self.groups: dict[bytes, int] = {}

    def entry(self, key: tuple[Any, ...]) -> dict[str, float]:
        whole = key if len(key) > 1 else key[0]
        encoded = encode_key(whole)
        self.groups[encoded] = key_group(whole, GROUPS)
        return self.entries.setdefault(encoded, {"count": 0, "most": 0.0})

    def drop(self, unwanted: Callable[[bytes], bool]) -> None:
        self.entries = {key: entry for key, entry in self.entries.items() if not unwanted(key)}


def columns_of(schema: Any, keys: list[tuple[Any, ...]]) -> list[Any]:
    return [pa.array([key[place] for key in keys], field.type) for place, field in enumerate(schema)]


def encoded(keys: tuple[Any, ...]) -> bytes:
    return encode_key(keys if len(keys) > 1 else keys[0])


def contents(table: KeyTable, groups: set[int] | None = None) -> dict[bytes, dict[str, float]]:
    rows = [list(row.values()) for row in table.batch(groups).to_pylist()]
    return {encoded(tuple(row[:-2])): {"count": row[-2], "most": row[-1]} for row in rows}


def do(
    deed: str, table: KeyTable, model: Model, schema: Any, rows: list[tuple[tuple[Any, ...], int]]
) -> KeyTable:
    """The same to both."""
    keys, numbers = [key for key, _ in rows], [number for _, number in rows]
    columns = columns_of(schema, keys)
    match deed:
        case "add":
            table.add(columns, {"count": np.array(numbers, np.int64)})
            for key, number in rows:
                model.entry(key)["count"] += number
        case "set":
            table.set(columns, {"count": pa.array(numbers, pa.int64()), "most": 7.0})
            for key, number in rows:
                model.entry(key).update(count=number, most=7.0)
        case "merge":
            table.merge(columns, {"most": np.array(numbers, np.float64)}, np.maximum)
            there = set(model.entries)
            for key, number in rows:
                entry = model.entry(key)
                entry["most"] = max(entry["most"], number) if encoded(key) in there else float(number)
                there.add(encoded(key))
        case "remove":
            table.remove(columns)
            model.drop({encoded(key) for key in keys}.__contains__)
        case "drop":
            groups = {abs(number) for number in numbers}
            table.drop_groups(groups)
            model.drop(lambda key: model.groups[key] in groups)
        case "reload":
            return reloaded(table, model, schema)
    return table


def reloaded(table: KeyTable, model: Model, schema: Any) -> KeyTable:
    """As another task would have it, to which all groups have moved."""
    parts = saved(table, range(GROUPS))
    assert set(parts) == {model.groups[key] for key in model.entries}
    another = KeyTable(schema, COUNTS, GROUPS)
    for group in sorted(parts, reverse=True):
        for part in parts[group]:
            another.load(part)
    return another


@settings(max_examples=40)
@given(st.data(), st.sampled_from(sorted(KEYS)), st.booleans(), st.sampled_from([0, 2, 1_024]))
def test_a_table_holds_what_a_dict_would(
    data: st.DataObject, kind: int, in_python: bool, most_gone: int
) -> None:
    schema, keys = KEYS[kind]
    deeds = data.draw(st.lists(st.tuples(DEEDS, ROWS[kind]), max_size=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_table, "_MOST_GONE", most_gone)
        if in_python:
            patch.setattr(compiled, "columns", None)
        table, model = KeyTable(schema, COUNTS, GROUPS), Model()
        for deed, rows in deeds:
            table = do(deed, table, model, schema, rows)
            assert len(table) == len(model.entries)
        assert contents(table) == model.entries
        wanted = {2, 5}
        of_groups = {key: entry for key, entry in model.entries.items() if model.groups[key] in wanted}
        assert contents(table, wanted) == of_groups
        asked = data.draw(st.lists(keys, max_size=6))
        found = table.get(columns_of(schema, asked))
        nothing = {"count": 0, "most": 0.0}
        expected = [model.entries.get(encoded(key), nothing) for key in asked]
        assert found["count"].tolist() == [entry["count"] for entry in expected]
        assert found["most"].tolist() == [entry["most"] for entry in expected]
        there = table.contains(columns_of(schema, asked)).tolist()
        assert there == [encoded(key) in model.entries for key in asked]


def test_a_table_grows_and_keeps_its_keys(way: str) -> None:
    """More keys than it begins with, keys of a megabyte, and more parts than are kept apart."""
    words = [f"word{number}" for number in range(20_000)] + ["a" * 1_000_000, "b" * 1_000_000]
    table = KeyTable(WORD, {"count": np.int64}, 256)
    for begin in range(0, len(words), 200):
        table.add([pa.array(words[begin : begin + 200])], {"count": 1})
    table.add([pa.chunked_array([words[:5], words[-5:]])], {"count": 10})
    assert len(table) == len(words)
    assert table.get([pa.array([words[0], words[-1], words[9], "c"])])["count"].tolist() == [11, 11, 1, 0]
    assert table.batch()["word"].to_pylist() == words
    parts = saved(table, range(256))
    other = KeyTable(WORD, {"count": np.int64}, 256)
    for part in chain.from_iterable(parts.values()):
        other.load(part)
    assert parts.keys() == set(range(256))
    assert len(other) == len(words)
    assert other.get([pa.array(words)])["count"].tolist() == table.get([pa.array(words)])["count"].tolist()


def test_the_keys_of_a_dictionary_are_keys_of_the_table(way: str) -> None:
    table = KeyTable(WORD, {"count": np.int64}, 8)
    table.add([pa.array(["a", "b", "a", None]).dictionary_encode()], {"count": [1, 2, 3, 4]})
    assert table.batch().to_pydict() == {"word": ["a", "b", None], "count": [4, 2, 4]}


def test_what_does_not_fit_is_refused_and_changes_nothing(way: str) -> None:
    table = KeyTable(PAIR, {"count": np.int64}, 8)
    keys, one = [pa.array(["a"]), pa.array([1])], {"count": 1}
    refused: list[tuple[type[Exception], str, list[Any], dict[str, Any]]] = [
        (ValueError, r"^1 columns of keys for a table of word \(string\), number \(int64\)$", keys[:1], one),
        (ValueError, r"^columns of keys have different lengths: 1, 2$", [keys[0], pa.array([1, 2])], one),
        (
            TypeError,
            r"^keys of type double for number \(int64\) of a table: cast",
            [keys[0], pa.array([1.5])],
            one,
        ),
        (ValueError, r"^a table of count has no values sum$", keys, {"sum": 1}),
        (
            ValueError,
            r"^values count of a table with nulls: fill them$",
            keys,
            {"count": pa.array([None], "int64")},
        ),
        (TypeError, "Cannot cast", keys, {"count": 1.5}),
        (ValueError, "broadcast", keys, {"count": [1, 2]}),
    ]
    for error, message, columns, values in refused:
        for deed in (table.add, table.set):
            with pytest.raises(error, match=message):
                deed(columns, values)
    assert len(table) == 0
    other = KeyTable(WORD, {"count": np.int64}, 1)
    other.set(keys[:1], one)
    ((one_of_another_form,),) = saved(other, [0]).values()
    with pytest.raises(ValueError, match=r"^a table of word \(string\), count \(int64\) is no table of word"):
        table.load(one_of_another_form)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_keys_that_a_table_cannot_keep_are_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"cannot be a key|cannot keep keys as word"):
        KeyTable(pa.schema([("word", kind)]), {"count": np.int64}, 8)


def test_a_damaged_column_adds_no_key() -> None:
    needs_compiled_module()
    table = KeyTable(WORD, {"count": np.int64}, 8)
    table.add([pa.array(["a", "b"])], {"count": 1})
    offsets = pa.py_buffer(np.array([0, 1, 9, 2], np.int32))
    damaged = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"cd")])
    with pytest.raises(ValueError, match="outside the data"):
        table.add([damaged], {"count": 1})
    table.add([pa.array(["c", "a"])], {"count": 1})
    assert table.batch().to_pydict() == {"word": ["a", "b", "c"], "count": [2, 1, 1]}


def test_the_compiled_index_stays_in_its_buffers() -> None:
    module = needs_compiled_module()
    one = (("i", b"", 0, bytes(8), None, None),)
    homes, hashes, ends, pool, out = (bytearray(size) for size in (32, 16, 16, 8, 8))
    for row, rows, used, buffers in (
        (0, 1, 0, (bytearray(24), hashes, ends, pool, out)),  # no power of two
        (0, 1, 0, (homes, bytearray(24), bytearray(24), pool, out)),  # more room than half of the homes
        (0, 1, 3, (homes, hashes, ends, pool, out)),
        (0, 1, -1, (homes, hashes, ends, pool, out)),
        (1, 0, 0, (homes, hashes, ends, pool, out)),
        (0, 1, 0, (homes, hashes, ends, pool, bytearray(7))),
        (0, 2, 0, (homes, hashes, ends, pool, bytearray(16))),
    ):
        with pytest.raises(ValueError, match=r"no room|shorter than its rows"):
            module.places(one, row, rows, True, used, *buffers)
    assert module.places(one, 0, 1, True, 0, homes, hashes, ends, bytearray(1), out) == (0, 0)
    assert module.places(one, 0, 1, True, 0, homes, hashes, ends, pool, out) == (1, 1)
    with pytest.raises(ValueError, match="no room for the index"):
        module.settle(3, homes, bytearray(24))


@pytest.mark.usefixtures("way")
def test_a_key_of_another_task_is_refused_and_leaves_nothing_behind() -> None:
    table = KeyTable(WORD, {"count": "int64"}, GROUPS)
    ours = [f"word{number}" for number in range(50) if key_group(f"word{number}", GROUPS) < 4]
    strange = next(f"word{number}" for number in range(50) if key_group(f"word{number}", GROUPS) >= 4)
    table.owned = [group < 4 for group in range(GROUPS)]
    table.add(pa.array(ours[:5]), {"count": 1})
    before = table.batch()
    with pytest.raises(KeyNotOwned, match=f"key \\['{strange}'\\] is in key group"):
        table.add(pa.array([ours[0], ours[9], strange]), {"count": 1})
    assert table.batch() == before
    table.add(pa.array(ours), {"count": 1})
    counts = dict(zip(ours, table.get(pa.array(ours))["count"].tolist(), strict=True))
    assert counts == {word: 2 if word in ours[:5] else 1 for word in ours}


@pytest.mark.usefixtures("way")
def test_a_table_knows_the_groups_that_have_changed() -> None:
    table = KeyTable(WORD, {"count": "int64"}, GROUPS)
    words = [f"word{number}" for number in range(50)]
    groups = {word: key_group(word, GROUPS) for word in words}
    table.add(pa.array(words), {"count": 1})
    assert table.changed_groups() == sorted(set(groups.values()))
    table.forget_changes(range(GROUPS))
    assert not table.is_changed
    table.get(pa.array(words))
    assert not table.is_changed
    table.set(pa.array(words[:2]), {"count": 5})
    table.remove(pa.array(words[7:8]))
    assert table.changed_groups() == sorted({groups[word] for word in (words[0], words[1], words[7])})
    table.drop_groups([groups[words[0]]])
    assert table.is_changed


@pytest.mark.usefixtures("way")
def test_what_is_frozen_stays_as_it_was_while_the_table_changes() -> None:
    table = KeyTable(WORD, {"count": "int64"}, GROUPS)
    words = [f"word{number}" for number in range(300)]
    table.add(pa.array(words[:100]), {"count": 1})
    parts = table.frozen().parts(range(GROUPS))
    for begin in range(0, 300, 3):
        table.add(pa.array(words[begin : begin + 3]), {"count": 7})
    table.remove(pa.array(words[:10]))
    table.drop_groups([1, 2])
    table.add(pa.array(words), {"count": 9})
    rows = [row for found in parts for _, part in found for row in part.entries.to_pylist()]
    assert sorted((row["word"], row["count"]) for row in rows) == sorted((word, 1) for word in words[:100])
    assert saved(KeyTable(WORD, {"count": "int64"}, GROUPS), range(GROUPS)) == {}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("groups", [None, range(GROUPS)])
def test_a_batch_stays_as_it_was_while_the_table_changes(groups: Collection[int] | None) -> None:
    table = KeyTable(WORD, {"count": "int64"}, GROUPS)
    words = pa.array([f"word{number}" for number in range(100)])
    table.add(words, {"count": 1})
    batch, found = table.batch(groups), table.get(words)
    table.add(words, {"count": 7})
    table.set(words[:5], {"count": 70})
    table.merge(words[5:9], {"count": 700}, np.maximum)
    table.remove(words[50:])
    assert batch.to_pydict() == {"word": words.to_pylist(), "count": [1] * 100}
    assert found["count"].tolist() == [1] * 100


@pytest.mark.parametrize("kind", ["uint8", "uint64", "int8", "int64", "float32", "float64"])
def test_whole_numbers_of_python_go_into_columns_of_every_type(kind: str) -> None:
    table = KeyTable(WORD, {"n": kind}, GROUPS)
    words = pa.array(["a", "b", "c"])
    table.add(words, {"n": 1})
    table.add(words[:2], {"n": [1, 0]})
    assert table.batch()["n"].to_pylist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("kind", "number", "message"),
    [
        ("uint64", -1, "value n of a table is uint64, which -1 is not"),
        ("uint64", [1, -2], "value n of a table is uint64, which -2 is not"),
        ("uint8", 256, "value n of a table is uint8, which 256 is not"),
        ("int8", [0, 128], "value n of a table is int8, which 128 is not"),
        ("int64", 2**63, f"value n of a table is int64, which {2**63} is not"),
    ],
)
def test_whole_numbers_that_do_not_fit_are_refused(kind: str, number: Any, message: str) -> None:
    table = KeyTable(WORD, {"n": kind}, GROUPS)
    for deed in (table.add, table.set):
        with pytest.raises(ValueError, match=f"^{message}$"):
            deed(pa.array(["a", "b"]), {"n": number})
    assert len(table) == 0


@pytest.mark.usefixtures("way")
def test_a_failure_on_the_way_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index has the new keys already when there is no memory for their numbers."""
    table = KeyTable(WORD, {"count": "int64"}, GROUPS)
    table.add(pa.array(["a", "b"]), {"count": 1})

    def no_memory(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(key_table, "_grown", no_memory)
        with pytest.raises(MemoryError):
            table.add(pa.array(["c", "a", "d"]), {"count": 1})
    assert len(table) == 2
    assert table.contains(pa.array(["a", "c", "d"])).tolist() == [True, False, False]
    table.add(pa.array(["d", "a"]), {"count": 5})
    assert table.batch().to_pydict() == {"word": ["a", "b", "d"], "count": [6, 1, 5]}


def test_keys_are_copied_into_parts_of_a_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no column is too long for its offsets, and no call of a large table copies all its keys."""
    monkeypatch.setattr(key_columns, "_ROWS", 64)
    monkeypatch.setattr(key_columns, "_BYTES", 2_000)
    keys = key_columns.KeyColumns(WORD)
    words = [f"word{number}" for number in range(1_000)] + ["a" * 3_000, "b" * 1_000, "c" * 1_000, "d"]
    for begin in range(0, len(words), 3):
        keys.append([pa.array(words[begin : begin + 3])])
    sizes = [part.num_rows for part in keys._parts]
    assert keys.whole()[0].to_pylist() == words
    assert max(sizes) <= 64
    assert len(sizes) < 50


@pytest.mark.usefixtures("way")
def test_removing_a_few_keys_leaves_the_others_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    table = KeyTable(WORD, {"count": "int64"}, GROUPS)
    words = pa.array([f"word{number}" for number in range(10_000)])
    table.add(words, {"count": range(10_000)})
    renewed = []
    keep = KeyTable._keep

    def counted(table: KeyTable, kept: Any) -> None:
        renewed.append(len(table))
        keep(table, kept)

    monkeypatch.setattr(KeyTable, "_keep", counted)
    for begin in range(0, 9_900, 100):
        table.remove(words[begin : begin + 100])
        assert len(table) == 9_900 - begin
    assert table.batch().to_pydict() == {
        "word": words[9_900:].to_pylist(),
        "count": list(range(9_900, 10_000)),
    }
    assert renewed == [4_900, 2_400, 1_100]  # where more have been removed than are left


@pytest.mark.usefixtures("way")
def test_a_removed_key_comes_back_as_a_new_one() -> None:
    table = KeyTable(WORD, {"count": "int64", "low": "int64"}, GROUPS)
    words = pa.array(["a", "b", "c", "d"])
    table.add(words, {"count": 5, "low": 5})
    table.forget_changes(range(GROUPS))
    table.remove(words[:3])
    assert table.get(words)["count"].tolist() == [0, 0, 0, 5]
    assert table.contains(words).tolist() == [False, False, False, True]
    table.remove(words[:3])
    table.add(pa.array(["a", "a"]), {"count": 1})
    table.merge(pa.array(["b", "d", "e", "b", "e"]), {"low": [9, 9, 9, 8, 7]}, np.minimum)
    rows = {row["word"]: (row["count"], row["low"]) for row in table.batch().to_pylist()}
    assert rows == {"a": (2, 0), "b": (0, 8), "d": (5, 5), "e": (0, 7)}
    assert len(table) == 4


@pytest.mark.usefixtures("way")
def test_a_removed_key_does_not_come_back_to_a_task_that_has_lost_it() -> None:
    table = KeyTable(WORD, {"count": "int64"}, GROUPS)
    table.add(pa.array(["a", "b"]), {"count": 1})
    table.remove(pa.array(["a"]))
    table.owned = [group != key_group("a", GROUPS) for group in range(GROUPS)]
    with pytest.raises(KeyNotOwned, match="key \\['a'\\] is in key group"):
        table.add(pa.array(["c", "a"]), {"count": 1})
    assert table.batch().to_pydict() == {"word": ["b"], "count": [1]}


@pytest.mark.parametrize("groups", [1, 8, 1_000])
@pytest.mark.parametrize("wanted", [[0], range(1_000), range(0, 1_000, 3), []])
def test_a_table_is_taken_out_in_steps_of_a_limited_size(
    monkeypatch: pytest.MonkeyPatch, groups: int, wanted: Collection[int]
) -> None:
    """However large it is, and however few of its groups are wanted."""
    for name, limit in {"_PLACES": 64, "_ENTRIES": 50, "_BYTES": 400, "_GROUPS": 4}.items():
        monkeypatch.setattr(frozen_table, name, limit)
    monkeypatch.setattr(key_columns, "_ROWS", 128)
    numbers = range(2_000)
    table = KeyTable(WORD, {"number": "int64"}, groups)
    table.add(pa.array([f"word{number}" for number in numbers]), {"number": numbers})
    table.remove(pa.array([f"word{number}" for number in range(0, 2_000, 5)]))
    ours = [group for group in wanted if group < groups]
    steps = list(table.frozen().parts(ours))
    found = [
        (group, row["number"]) for step in steps for group, part in step for row in part.entries.to_pylist()
    ]
    expected = [(key_group(f"word{number}", groups), number) for number in numbers if number % 5]
    assert sorted(found) == sorted(pair for pair in expected if pair[0] in set(ours))
    assert all(len({group for group, _ in step}) <= 4 for step in steps)
    assert all(sum(len(part.entries) for _, part in step) <= 50 for step in steps)
