"""Folders that outlive a power cut: what a process remembers of those that it has made."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from heronpy.kernel.machine import durable
from heronpy.kernel.machine.durable import make_durable
from heronpy.plugins.disk import replacing


def test_the_folders_of_checkpoints_long_gone_take_little_memory(tmp_path: Path) -> None:
    durable._known.clear()
    tracemalloc.start()
    try:
        for checkpoint in range(300):
            folder = tmp_path / "checkpoints" / "words" / "0123456789ab" / str(checkpoint)
            make_durable(folder)
            folder.rmdir()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 100_000, f"{size} bytes for 300 folders"


def test_a_folder_that_a_neighbour_makes_and_removes_at_that_moment_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As checkpoint stores do, which remove a folder with the last object in it."""
    folder = tmp_path / "1"
    make = os.mkdir

    def just_after_a_neighbour(path: str, mode: int = 0o777) -> None:
        monkeypatch.setattr(os, "mkdir", make)
        raise FileExistsError(path)  # and the neighbour has removed it already

    make_durable(tmp_path / "aside")
    monkeypatch.setattr(os, "mkdir", just_after_a_neighbour)
    with replacing(folder / "object", tmp_path / "aside") as file:
        file.write(b"here")
    assert (folder / "object").read_bytes() == b"here"


def test_a_file_or_a_broken_link_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "broken").symlink_to(tmp_path / "missing")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("file", "broken"):
        with pytest.raises(NotADirectoryError):
            make_durable(tmp_path / name)
    make_durable(tmp_path / "link" / "below")
    assert (tmp_path / "real" / "below").is_dir()
