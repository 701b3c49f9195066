"""Uploads in a folder and behind a URL: where they lie, who may read them, and what is said when it fails."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

import pytest
from support.faults.second_account import STRANGER, as_stranger, shared_folder
from support.suite.needs import needs_second_account

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import PluginError, UploadError
from heronpy.kernel.plugin import Uploader
from heronpy.kernel.plugin.opening import open_uploader
from heronpy.plugins.disk import STALE, UNFINISHED


def settings(**flags: str) -> Config:
    return load_config(os.devnull, environ={}, flags={key.replace("_", "."): flags[key] for key in flags})


@pytest.fixture
def package(tmp_path: Path) -> str:
    path = tmp_path / "package"
    path.write_bytes(b"PK")
    return str(path)


@pytest.fixture
def localfs(tmp_path: Path) -> Uploader:
    return open_uploader(settings(home=str(tmp_path / "home")))


def of_url(url: str) -> Uploader:
    return open_uploader(settings(upload_uploader="fsspec", upload_path=url))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_they_lie_in_home_for_the_own_user_alone(localfs: Uploader, package: str, tmp_path: Path) -> None:
    url = localfs.put("a.pyz", package)
    assert url == f"file://{tmp_path}/home/uploads/a.pyz"
    assert mode(tmp_path / "home/uploads/a.pyz") == 0o600
    assert mode(tmp_path / "home/uploads") == 0o700


def test_in_a_folder_that_was_chosen_others_may_read_them(package: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        url = open_uploader(settings(upload_path=str(shared))).put("a.pyz", package)
    finally:
        os.umask(before)
    assert url == f"file://{shared}/a.pyz"
    assert mode(shared / "a.pyz") == 0o644


def test_opening_and_looking_make_no_folder(localfs: Uploader, tmp_path: Path) -> None:
    assert localfs.names() == []
    localfs.delete("a.pyz")
    assert not (tmp_path / "home").exists()


def test_what_a_dead_writer_left_goes_when_the_next_one_opens(tmp_path: Path) -> None:
    folder = tmp_path / "home/uploads" / UNFINISHED
    folder.mkdir(parents=True)
    old, new = folder / "old", folder / "new"
    for path in (old, new):
        path.write_bytes(b"half of")
    at = old.stat().st_mtime - 2 * STALE
    os.utime(old, (at, at))
    assert open_uploader(settings(home=str(tmp_path / "home"))).names() == []
    assert list(folder.iterdir()) == [new]


def test_a_file_in_the_way_is_one_line(package: str, tmp_path: Path) -> None:
    (tmp_path / "uploads").write_text("mine")
    with pytest.raises(UploadError) as refused:
        open_uploader(settings(home=str(tmp_path))).put("a.pyz", package)
    assert str(refused.value) == (
        f"cannot use the upload folder {tmp_path}/uploads: a file is where a folder should be"
        " (try: move it away, or set upload.path to another)"
    )


def test_a_url_is_for_the_other_uploader() -> None:
    with pytest.raises(UploadError, match=r"wants a folder \(try: --set upload.uploader=fsspec\)"):
        open_uploader(settings(upload_path="hdfs://there/uploads"))


@pytest.mark.parametrize("path", ["", "/a/folder"])
def test_the_other_uploader_wants_a_url(path: str) -> None:
    with pytest.raises(UploadError, match=r"the uploader 'fsspec' wants a URL, and upload\.path is"):
        of_url(path)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(PluginError) as refused:
        of_url("memory://x")
    assert str(refused.value) == (
        "the uploader 'fsspec' needs the package fsspec (try: pip install 'heron-py[fsspec]')"
    )


def test_what_the_file_system_refuses_is_one_line(package: str, tmp_path: Path) -> None:
    (tmp_path / "uploads").write_text("mine")
    message = re.escape(f"cannot use the uploader file://{tmp_path}/uploads")
    with pytest.raises(UploadError, match=f"^{message}") as refused:
        of_url(f"file://{tmp_path}/uploads").put("a.pyz", package)
    assert "\n" not in str(refused.value)


def test_a_full_url_is_what_a_framework_can_fetch_itself(package: str, tmp_path: Path) -> None:
    uploader = of_url(f"file://{tmp_path}/there/")
    assert uploader.put("a.pyz", package) == f"file://{tmp_path}/there/a.pyz"
    assert (tmp_path / "there/a.pyz").read_bytes() == b"PK"


def test_a_folder_where_every_account_could_exchange_them_is_refused(package: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    refused = rf"cannot use the upload folder {shared}: other accounts may remove .*\(try: .*set upload.path"
    with pytest.raises(UploadError, match=refused):
        open_uploader(settings(upload_path=str(shared)))
    shared.chmod(0o1777)
    before = os.umask(0)
    try:
        open_uploader(settings(upload_path=str(shared))).put("a.pyz", package)
    finally:
        os.umask(before)
    assert mode(shared / "a.pyz") == 0o644
    assert mode(shared / UNFINISHED) == 0o700


def test_nothing_is_written_where_another_account_could_exchange_it_first(package: str) -> None:
    needs_second_account()
    with shared_folder() as shared:
        as_stranger("mkdir", "-m", "777", str(shared / UNFINISHED))
        uploader = open_uploader(settings(upload_path=str(shared)))
        with pytest.raises(UploadError, match=f"{UNFINISHED} belongs to user {STRANGER}"):
            uploader.put("a.pyz", package)
        assert sorted(path.name for path in shared.rglob("*")) == [UNFINISHED]
