"""Lines of files: which files, which lines, and what is said when they cannot be read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from heronpy.connectors.files.lines import LineSource
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError
from heronpy.testing.contracts.source import beginning, by_split, read


def lines_of(source: LineSource) -> dict[str, list[Any]]:
    with contextlib.closing(source.open()) as reader:
        found = by_split(source, read(source, reader, beginning(source), 100))
    return {os.path.basename(split): records for split, records in found.items()}


def test_lines_end_with_a_newline_or_with_both_characters(tmp_path: Path) -> None:
    (tmp_path / "unix").write_bytes(b"one\n\ntwo\n")
    (tmp_path / "windows").write_bytes(b"one\r\n\r\ntwo\r\n")
    (tmp_path / "cut").write_bytes("old\rmac\x0b\u2028still\nlast".encode())
    assert lines_of(LineSource(tmp_path)) == {
        "unix": ["one", "", "two"],
        "windows": ["one", "", "two"],
        "cut": ["old\rmac\x0b\u2028still", "last"],
    }


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\ntwo\n")
    source = LineSource(tmp_path / "a")
    with contextlib.closing(source.open()) as reader:
        chunks = read(source, reader, beginning(source), 1)
    assert [(chunk.records, chunk.position) for chunk in chunks] == [(["one"], 7), (["two"], 11), ([], 11)]


def test_paths_globs_and_folders_name_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "b.txt", "c.log", "_SUCCESS", ".hidden", "deep/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    monkeypatch.chdir(tmp_path)
    given: list[tuple[Any, list[str]]] = [
        ("a.txt", ["a.txt"]),
        ("*.txt", ["a.txt", "b.txt"]),
        (["b.txt", "*.txt", Path("a.txt")], ["a.txt", "b.txt"]),
        (".", ["a.txt", "b.txt", "c.log"]),
        ("**/*.txt", ["a.txt", "b.txt", "deep/d.txt"]),
        ("_SUCCESS", ["_SUCCESS"]),
    ]
    for paths, names in given:
        assert LineSource(paths).splits() == [str(tmp_path / name) for name in names]


def test_a_relative_path_begins_where_the_source_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    monkeypatch.chdir(tmp_path)
    source = LineSource("a.txt")
    monkeypatch.chdir("/")
    assert lines_of(source) == {"a.txt": ["one"]}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.txt", r"/none.txt does not exist \(try: correct the path"),
        ("*.csv", r"no file matches /.*/\*.csv \(try: ls /"),
        ("empty", r"there is no file in the folder /.*/empty \(try: .*\*\*/\*\)"),
        ("pipe", r"/pipe is neither a file nor a folder \(try: "),
    ],
)
def test_a_path_without_files_is_refused_at_submit(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    source = LineSource(tmp_path / path)
    for act in (source.check, source.splits):
        with pytest.raises(UserError, match=message):
            act()


def test_no_path_at_all_is_refused_where_it_is_written() -> None:
    for paths in ("", [], ["a.txt", ""]):
        with pytest.raises(DefinitionError, match=r"names no file \(try: give a path such as 'data.txt'"):
            LineSource(paths)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "klingon"])
def test_an_encoding_without_plain_line_ends_is_refused(encoding: str) -> None:
    with pytest.raises(DefinitionError, match=rf"with the encoding '{encoding}' \(try: encoding='utf-8'"):
        LineSource("a.txt", encoding=encoding)


def test_a_line_that_is_no_text_is_named_by_file_and_number(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\nth\xffree\n")
    source = LineSource(tmp_path / "a")
    with contextlib.closing(source.open()) as reader:
        reader.assign({str(tmp_path / "a"): 4})
        with pytest.raises(UserError, match=r"/a, line 3 is not utf-8: .*\(try: .*encoding='latin-1'"):
            reader.poll(10)
    assert lines_of(LineSource(tmp_path / "a", encoding="latin-1")) == {"a": ["one", "two", "thÿree"]}


def test_a_file_that_is_gone_or_shorter_than_its_position_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntwo\n")
    source = LineSource(path)
    with contextlib.closing(source.open()) as reader:
        reader.assign({str(path): 8})
        path.write_text("one\n")
        with pytest.raises(UserError, match="/a has become shorter than the 8 bytes that were read of it"):
            reader.poll(10)
        path.unlink()
        reader.assign({str(path): 8})
        with pytest.raises(UserError, match="/a cannot be read: No such file or directory"):
            reader.poll(10)


def test_a_followed_line_comes_when_its_end_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntw")
    source = LineSource(path, follow=True)
    assert not source.bounded
    with contextlib.closing(source.open()) as reader, path.open("a") as file:
        reader.assign(beginning(source))
        first = reader.poll(10)
        assert first is not None
        assert (first.records, first.position, first.caught_up, first.ended) == (["one"], 4, True, False)
        assert reader.poll(10) is None
        file.write("o\nthree\n")
        file.flush()
        more = reader.poll(10)
        assert more is not None
        assert (more.records, more.position) == (["two", "three"], 14)


def test_thousands_of_files_are_not_open_at_once(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03d}").write_text(f"{number}\n")
    source = LineSource(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    most = 0
    records: list[str] = []
    with contextlib.closing(source.open()) as reader:
        reader.assign(beginning(source))
        while chunk := reader.poll(10):
            most = max(most, len(os.listdir("/proc/self/fd")) - before)
            records += chunk.records
    assert sorted(map(int, records)) == list(range(300))
    assert most <= 64
