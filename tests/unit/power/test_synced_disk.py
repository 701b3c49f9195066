"""The disk that tests cut the power of: it keeps what was synced, and loses what was not."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.faults.power.synced_disk import SyncedDisk

PRELUDE = """
import os, sqlite3
def sync(path):
    number = os.open(path, os.O_RDONLY)
    os.fsync(number)
    os.close(number)
def write(path, text, synced=True):
    with open(path, "w") as file:
        file.write(text)
        file.flush()
        if synced:
            os.fsync(file.fileno())
"""


@pytest.fixture
def disk(tmp_path: Path, synced_library: Path) -> SyncedDisk:
    (tmp_path / "disk").mkdir()
    return SyncedDisk(tmp_path / "disk", tmp_path / "notes", synced_library)


def do(disk: SyncedDisk, program: str) -> None:
    """In a process that uses the disk."""
    subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(program)],
        cwd=disk.folder,
        env={**os.environ, **disk.environment()},
        check=True,
        timeout=30,
    )


def found(disk: SyncedDisk) -> dict[str, str]:
    """Path → content."""
    return {
        str(path.relative_to(disk.folder)): path.read_text() if path.is_file() else "folder"
        for path in sorted(disk.folder.rglob("*"))
    }


def test_a_file_and_its_name_are_synced_each_by_itself(disk: SyncedDisk) -> None:
    do(
        disk,
        """
        write("named", "lost", synced=False)
        sync(".")
        write("unnamed", "kept, and nothing leads to it")
        """,
    )
    disk.cut()
    assert found(disk) == {"named": ""}


def test_what_is_written_after_the_last_sync_is_lost(disk: SyncedDisk) -> None:
    do(
        disk,
        """
        write("file", "first")
        sync(".")
        write("file", "second", synced=False)
        """,
    )
    disk.cut()
    assert found(disk) == {"file": "first"}


def test_a_folder_whose_parent_was_not_synced_is_lost_with_all_in_it(disk: SyncedDisk) -> None:
    do(
        disk,
        """
        for name in ("known", "unknown"):
            os.mkdir(name)
            write(f"{name}/file", name)
            sync(name)
            if name == "known":
                sync(".")
        """,
    )
    disk.cut()
    assert found(disk) == {"known": "folder", "known/file": "known"}


def test_a_rename_is_there_wholly_or_not_at_all(disk: SyncedDisk) -> None:
    """Whichever of the two folders is synced."""
    do(
        disk,
        """
        for name in ("a", "b", "c"):
            os.mkdir(name)
        for number in range(3):
            write(f"a/{number}", str(number))
        for name in ("a", "b", "c", "."):
            sync(name)
        os.rename("a/0", "b/0")
        sync("b")
        os.rename("a/1", "c/1")
        os.rename("b/0", "c/0")
        sync("a")
        """,
    )
    disk.cut()
    files = {path: text for path, text in found(disk).items() if text != "folder"}
    assert files == {"a/2": "2", "b/0": "0", "c/1": "1"}


def test_what_was_removed_comes_back_unless_its_folder_was_synced(disk: SyncedDisk) -> None:
    do(
        disk,
        """
        write("gone", "1"), write("back", "2"), sync(".")
        os.unlink("gone"), sync("."), os.unlink("back")
        """,
    )
    disk.cut()
    assert found(disk) == {"back": "2"}


def test_nothing_comes_after_the_mark_and_the_next_cut_begins_from_there(disk: SyncedDisk) -> None:
    do(disk, "write('file', 'first'), sync('.')")
    disk.mark()
    do(disk, "write('file', 'second'), write('other', ''), sync('.')")
    disk.cut()
    assert found(disk) == {"file": "first"}
    do(disk, "write('file', 'third')")
    disk.cut()
    assert found(disk) == {"file": "third"}


def test_with_dice_some_of_what_was_not_synced_is_there_too(disk: SyncedDisk) -> None:
    names = [f"file{number}" for number in range(40)]
    do(disk, f"for name in {names}: write(name, 'x' * 2000, synced=False)")
    do(disk, "sync('.')")
    disk.cut(random.Random(1))
    sizes = [path.read_bytes().rstrip(b"\0") for path in disk.folder.iterdir()]
    assert len(sizes) == 40
    assert {len(data) for data in sizes} == {0, 512, 1024, 1536, 2000}


def test_a_transaction_of_sqlite_is_there_wholly_or_not_at_all(disk: SyncedDisk) -> None:
    do(
        disk,
        """
        connection = sqlite3.connect("db", isolation_level=None)
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("CREATE TABLE t (n)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (2)")
        os._exit(0)
        """,
    )
    disk.cut()
    do(disk, "assert sqlite3.connect('db').execute('SELECT n FROM t').fetchall() == [(1,)]")
