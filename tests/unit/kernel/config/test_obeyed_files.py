"""A settings file that was found, not named, is obeyed only if no other account can have written it."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.suite.needs import needs

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import ConfigError

#: an account that has no name here
STRANGER = 43210


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, which other accounts may enter, with a settings file."""
    made = Path(tempfile.mkdtemp(prefix="heronpy-obeyed-"))
    made.chmod(0o755)
    settings(made)
    monkeypatch.chdir(made)
    yield made
    shutil.rmtree(made)


def settings(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "heron.toml"
    file.write_text("log.level = 'ERROR'\n")
    file.chmod(0o644)
    return file


def give_away(path: Path, group: int = -1) -> None:
    needs(os.geteuid() == 0, "only root can give a file to another account (try: as root)")
    os.chown(path, STRANGER if group == -1 else -1, group, follow_symlinks=False)


def refusal(**environ: str) -> str:
    with pytest.raises(ConfigError) as told:
        load_config(environ=environ)
    assert told.value.exit_code == 2
    return str(told.value)


def test_a_file_and_folder_of_our_own_are_obeyed(folder: Path) -> None:
    config = load_config(environ={})
    assert config["log.level"] == "ERROR"
    assert config.files == [str(folder / "heron.toml")]


def test_defaults_flags_and_environment_are_no_files() -> None:
    config = load_config(os.devnull, {"HERONPY_LOG_LEVEL": "ERROR"}, {"batch.tuples": "5"})
    assert config.files == []


def test_a_file_of_another_account_is_refused_unless_it_is_named(folder: Path) -> None:
    give_away(folder / "heron.toml")
    assert refusal() == (
        f"the settings file heron.toml is not used: {folder}/heron.toml belongs to the account with the id"
        " 43210 (try: pass --config heron.toml to name it explicitly, or chown it to your account)"
    )
    assert load_config("heron.toml", environ={})["log.level"] == "ERROR"


def test_a_folder_of_another_account_is_refused(folder: Path) -> None:
    give_away(folder)
    assert f"not used: {folder} belongs to the account with the id 43210" in refusal()


@pytest.mark.parametrize("mode", [0o666, 0o646])
def test_a_file_that_all_may_write_is_refused(folder: Path, mode: int) -> None:
    file = folder / "heron.toml"
    file.chmod(mode)
    assert refusal() == (
        f"the settings file heron.toml is not used: {file} can be written by other accounts"
        f" (mode {mode:04o}) (try: chmod go-w {file}, or pass --config heron.toml to name it explicitly)"
    )


def test_a_folder_that_all_may_write_is_refused_also_with_a_file_of_our_own(folder: Path) -> None:
    folder.chmod(0o777)
    assert f"{folder} can be written by other accounts (mode 0777) (try: chmod go-w {folder}, or" in refusal()


def test_nobody_is_told_to_change_the_mode_of_a_folder_like_tmp(folder: Path) -> None:
    folder.chmod(0o1777)
    assert refusal().endswith(
        "(mode 1777) (try: pass --config heron.toml to name it explicitly, or move it to another folder)"
    )


def test_a_group_with_others_in_it_may_not_write_and_one_of_our_own_may(folder: Path) -> None:
    file = folder / "heron.toml"
    shared = next(each.pw_gid for each in pwd.getpwall() if each.pw_uid != 0 and each.pw_gid != 0)
    give_away(file, group=shared)
    file.chmod(0o664)
    assert "can be written by other accounts (mode 0664)" in refusal()
    give_away(file, group=0)
    assert load_config(environ={})["log.level"] == "ERROR"


def test_a_link_is_as_good_as_who_made_it_and_where_it_leads(folder: Path, tmp_path: Path) -> None:
    (folder / "heron.toml").unlink()
    target = settings(tmp_path / "elsewhere")
    (folder / "heron.toml").symlink_to(target)
    assert load_config(environ={})["log.level"] == "ERROR"
    target.parent.chmod(0o777)
    assert f"{target.parent} can be written by other accounts" in refusal()
    target.parent.chmod(0o755)
    give_away(folder / "heron.toml")
    assert f"{folder}/heron.toml belongs to the account" in refusal()


def test_the_file_in_the_home_folder_is_looked_at_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = settings(tmp_path / ".config" / "heronpy")
    monkeypatch.chdir(tmp_path)
    assert load_config(environ={"HOME": str(tmp_path)})["log.level"] == "ERROR"
    file.chmod(0o666)
    assert f"the settings file {file} is not used" in refusal(HOME=str(tmp_path))


def test_what_root_has_written_is_good_for_everybody(folder: Path) -> None:
    needs(os.geteuid() == 0, "only root can become another account and back (try: as root)")
    os.seteuid(STRANGER)
    try:
        assert load_config(environ={})["log.level"] == "ERROR"
    finally:
        os.seteuid(0)
