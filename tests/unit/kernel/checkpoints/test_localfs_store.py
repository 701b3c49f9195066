"""Checkpoints as files: private, and without a trace of writers that died."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import ObjectMissing, StoreError
from heronpy.kernel.plugin import CheckpointStore
from heronpy.plugins.checkpoints.localfs import LocalFsStore
from heronpy.plugins.disk import STALE, UNFINISHED

DYING_WRITER = """
import os, sys
from heronpy.kernel.config import load_config
from heronpy.plugins.checkpoints.localfs import LocalFsStore
store = LocalFsStore()
store.initialize(load_config(os.devnull, environ={}, flags={"home": sys.argv[1]}))
def chunks():
    yield b"x" * 100_000
    print("half of it is written", flush=True)
    sys.stdin.read()
store.write("words/e1/1/3-1", chunks())
"""


def opened(config: Config) -> LocalFsStore:
    store = LocalFsStore()
    store.initialize(config)
    return store


def unfinished(config: Config) -> list[Path]:
    return list((config.home / "checkpoints" / UNFINISHED).iterdir())


def age(path: Path, seconds: float) -> None:
    at = path.stat().st_mtime - seconds
    os.utime(path, (at, at))


def test_it_lies_in_home_unless_there_is_a_path(config: Config, tmp_path: Path) -> None:
    opened(config).write("words/e1/1/3-1", [b"x"])
    assert (config.home / "checkpoints/words/e1/1/3-1").read_bytes() == b"x"
    elsewhere = load_config(os.devnull, environ={}, flags={"checkpoint.path": str(tmp_path / "elsewhere")})
    opened(elsewhere).write("words/e1/1/3-1", [b"y"])
    assert (tmp_path / "elsewhere/words/e1/1/3-1").read_bytes() == b"y"


def test_names_of_objects_are_not_interned(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    # each that is, is an entry in the interpreter's table, whose copies a process pays for when it is full
    store, interned = opened(config), list[str]()

    def intern(text: str) -> str:
        interned.append(text)
        return text

    monkeypatch.setattr(sys, "intern", intern)
    store.write("words/e1/1/3-1", [b"x"])
    store.write("words/e1/2/3-1", [b"y"])
    assert store.read("words/e1/1/3-1") == b"x"
    store.delete("words/e1/1/3-1")
    assert store.names("words/e1/") == ["words/e1/2/3-1"]
    assert interned == []


def test_opening_and_looking_make_no_folder(config: Config) -> None:
    store = opened(config)
    assert store.names("") == []
    store.delete("words/e1/1/3-1")
    assert not config.home.exists()


def test_files_and_folders_are_for_the_own_user_alone(store: CheckpointStore, config: Config) -> None:
    store.write("words/e1/1/3-1", [b"x"])
    root = config.home / "checkpoints"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*"))}
    assert modes.pop("3-1") == 0o600
    assert set(modes.values()) == {0o700}


def test_what_is_deleted_leaves_no_empty_folders(store: CheckpointStore, config: Config) -> None:
    store.write("words/e1/1/3-1", [b"x"])
    store.write("words/e1/2/3-1", [b"x"])
    store.delete("words/e1/1/3-1")
    assert [path.name for path in (config.home / "checkpoints/words/e1").iterdir()] == ["2"]
    store.delete("words/e1/2/3-1")
    assert [path.name for path in (config.home / "checkpoints").iterdir()] == [UNFINISHED]


def test_a_writer_that_is_killed_leaves_nothing_that_could_be_read(config: Config) -> None:
    command = [sys.executable, "-c", DYING_WRITER, str(config.home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half of it is written\n"
        (left,) = unfinished(config)
        age(left, 2 * STALE)
        store = opened(config)
        assert unfinished(config) == [left], "its writer is alive"
        writer.send_signal(signal.SIGKILL)
    assert store.names("") == []
    with pytest.raises(ObjectMissing):
        store.read("words/e1/1/3-1")
    opened(config)
    assert unfinished(config) == []


def test_what_is_unfinished_and_new_is_left_alone(store: CheckpointStore, config: Config) -> None:
    store.write("words/e1/1/3-1", [b"x"])
    fresh = config.home / "checkpoints" / UNFINISHED / "fresh"
    fresh.write_bytes(b"its writer may not have locked it yet")
    opened(config)
    assert unfinished(config) == [fresh]


def test_a_full_disk_is_one_line(store: CheckpointStore, config: Config) -> None:
    def full() -> Iterator[bytes]:
        yield b"x"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StoreError) as refused:
        store.write("words/e1/1/3-1", full())
    assert str(refused.value) == (
        f"cannot use the checkpoint folder {config.home / 'checkpoints'}: the disk is full"
        " (try: free some space there, or set checkpoint.path to another)"
    )
    assert unfinished(config) == []


def test_a_file_in_the_way_is_one_line(config: Config) -> None:
    config.home.mkdir()
    (config.home / "checkpoints").write_text("mine")
    with pytest.raises(StoreError, match=r"a file is where a folder should be \(try: move it away"):
        opened(config).write("words/e1/1/3-1", [b"x"])


def test_a_url_is_for_the_other_store() -> None:
    config = load_config(os.devnull, environ={}, flags={"checkpoint.path": "s3://bucket"})
    with pytest.raises(StoreError, match=r"wants a folder \(try: --set checkpoint.store=fsspec\)"):
        opened(config)


def test_a_folder_where_every_account_could_exchange_them_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    config = load_config(os.devnull, environ={}, flags={"checkpoint.path": str(folder)})
    with pytest.raises(StoreError, match=r"other accounts may remove what is in .*\(try: .*checkpoint\.path"):
        opened(config)
