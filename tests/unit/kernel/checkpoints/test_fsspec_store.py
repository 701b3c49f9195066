"""Checkpoints behind a URL: what is wrong with it is said in one line."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import pytest

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import PluginError, StoreError
from heronpy.plugins.checkpoints.fsspec import FsspecStore
from heronpy.plugins.url_folder import STALE, UNFINISHED


def opened(path: str) -> FsspecStore:
    store = FsspecStore()
    store.initialize(load_config(os.devnull, environ={}, flags={"checkpoint.path": path}))
    return store


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(PluginError) as refused:
        opened("memory://x")
    assert str(refused.value) == (
        "the checkpoint store 'fsspec' needs the package fsspec (try: pip install 'heron-py[fsspec]')"
    )


@pytest.mark.parametrize("path", ["", "/a/folder", "checkpoints"])
def test_it_wants_a_url(path: str) -> None:
    with pytest.raises(StoreError, match=r"wants a URL, and checkpoint\.path is .*s3://bucket/heronpy\)$"):
        opened(path)


def test_a_kind_of_url_that_nobody_knows_is_named() -> None:
    with pytest.raises(StoreError, match=r"^cannot use the checkpoint store nowhere://x: Protocol not known"):
        opened("nowhere://x")


def test_what_the_file_system_refuses_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("mine")
    message = re.escape(f"cannot use the checkpoint store file://{tmp_path}")
    with pytest.raises(StoreError, match=f"^{message}") as refused:
        opened(f"file://{tmp_path}/checkpoints").write("words/1", [b"x"])
    assert "\n" not in str(refused.value)


def test_what_a_writer_left_long_ago_goes_and_what_is_new_stays(tmp_path: Path) -> None:
    folder = tmp_path / UNFINISHED
    folder.mkdir()
    old, new = folder / f"{int(time.time() - STALE - 60)}-aa", folder / f"{int(time.time())}-bb"
    for path in (old, new):
        path.write_bytes(b"half of")
    store = opened(f"file://{tmp_path}")
    assert list(folder.iterdir()) == [new]
    assert store.names("") == []
