"""What a file sink writes, and what can be seen of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from support.faults.second_account import STRANGER, as_stranger, shared_folder
from support.suite.needs import needs_second_account
from support.tasks.sinking import Life, files, tuple_of

from heronpy import Bolt, FileSink, Grouping, Spout, Topology, Tuple
from heronpy.context import TopologyContext
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError
from heronpy.testing import TopologyTest


class Words(Spout):
    outputs = ("word", "count")


class Upper(FileSink):
    def line(self, tup: Tuple) -> str:
        return str(tup.word).upper()


def test_a_line_has_the_values_with_tabs_between_them(tmp_path: Path) -> None:
    life = files(tmp_path).life()
    for word, count in (("a", 1), ("b\tc\\", 2), ("d\ne\r", 3), ("ä\udcff", 4)):
        life.sink.process(tuple_of(word, count))
    life.transactions.prepare(7)
    life.transactions.complete(7)
    (path,) = tmp_path.glob("[!.]*")
    assert path.read_text() == "a\t1\nb\\tc\\\\\t2\nd\\ne\\r\t3\nä\\udcff\t4\n"
    assert path.name.startswith("sink-0-000007-")
    assert path.suffix == ".txt"


def test_a_file_appears_as_a_whole_and_is_never_touched_again(tmp_path: Path) -> None:
    kind = files(tmp_path)
    life = kind.life()
    life.write(*"abc")
    saved = life.transactions.prepare(1)
    life.write("d")
    assert [path.name for path in tmp_path.iterdir()] == [".uncommitted"]
    life.transactions.complete(1)
    (path,) = tmp_path.glob("[!.]*")
    path.rename(tmp_path.parent / "taken_away")
    kind.life(saved=saved)  # a reader has it: it does not come again
    assert kind.read() == []


def test_lines_are_as_the_subclass_wants_them_and_files_end_as_the_config_says(tmp_path: Path) -> None:
    class Shouting(Topology):
        words = Words.spec()
        out = Upper.spec(inputs={words: Grouping.SHUFFLE}, par=2, folder=tmp_path, suffix=".log")

    with TopologyTest(Shouting) as run:
        run.feed("words", [["a", 1], ["b", 2], ["c", 3]])
        run.run()
        assert list(tmp_path.glob("[!.]*")) == []
        run.advance("1s")
        assert sorted(path.read_text() for path in tmp_path.glob("*.log")) == ["A\nC\n", "B\n"]
        run.feed("words", [["d", 4]])
        run.run()
    assert sum(path.read_text().count("\n") for path in tmp_path.glob("*.log")) == 4


def test_a_relative_folder_is_where_the_topology_is_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = FileSink.spec("out", inputs=[], folder="lines", config={"other": 1})
    assert spec.custom_config == {"filesink.folder": str(tmp_path / "lines"), "other": 1}
    assert FileSink.spec("out", inputs=[]).custom_config is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, r"^'sink' needs 'filesink.folder' in its config: a path$"),
        ({FileSink.FOLDER: 3}, r"^'sink' needs 'filesink.folder' in its config: a path$"),
        (
            {FileSink.FOLDER: "out"},
            r"^'filesink.folder' of 'sink' must be an absolute path, got 'out'"
            r" \(try: use os.path.abspath\('out'\)\)$",
        ),
    ],
)
def test_a_folder_that_cannot_be_meant_is_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        Life(FileSink, config)


def test_a_folder_that_cannot_be_written_to_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(TopologyError) as caught:
        files(tmp_path / "out").life()
    assert str(caught.value) == f"FileSink cannot write to {tmp_path}/out/.uncommitted: Not a directory"


def test_it_is_a_bolt_and_its_context_is_the_ordinary_one(tmp_path: Path) -> None:
    class Labelled(FileSink):
        def initialize(self, config: dict[str, object], context: TopologyContext) -> None:
            super().initialize(config, context)
            self.task = context.get_task_id()

        def line(self, tup: Tuple) -> str:
            return f"{self.task} {tup.word}"

    assert issubclass(Labelled, Bolt)
    life = Life(Labelled, {FileSink.FOLDER: str(tmp_path)})
    life.write("a")
    life.transactions.prepare(1)
    life.transactions.complete(1)
    assert files(tmp_path).read() == ["2 a"]


def test_what_is_staged_is_private_and_what_is_committed_is_not_for_others_to_change(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        life = files(tmp_path / "new" / "out").life()
        life.write("a")
        life.transactions.prepare(1)
        life.transactions.complete(1)
    finally:
        os.umask(before)
    modes = {path.name[:12]: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").rglob("*")}
    assert modes == {"out": 0o755, ".uncommitted": 0o700, "sink-0-00000": 0o644}


def test_staging_that_others_could_write_to_is_closed(tmp_path: Path) -> None:
    staging = tmp_path / ".uncommitted"
    staging.mkdir()
    staging.chmod(0o777)
    files(tmp_path).life()
    assert stat.S_IMODE(staging.stat().st_mode) == 0o700


def test_staging_that_another_account_made_first_is_refused(tmp_path: Path) -> None:
    needs_second_account()
    with shared_folder() as out:
        as_stranger("mkdir", "-m", "777", str(out / ".uncommitted"))
        with pytest.raises(TopologyError, match=rf"uncommitted belongs to user {STRANGER}.*\(try: remove it"):
            files(out).life()
        assert list((out / ".uncommitted").iterdir()) == []


def test_staging_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".uncommitted").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TopologyError, match="uncommitted is a symbolic link"):
        files(tmp_path).life()
