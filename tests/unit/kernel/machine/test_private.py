"""What counts as a folder of this account alone, and what is made under a careless umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.faults.second_account import STRANGER
from support.suite.needs import needs_second_account

from heronpy.kernel.machine.private import (
    PLACE_BYTES,
    NotPrivate,
    keep_others_out,
    make_private,
    own_folder,
    private,
    readable,
    require_place,
    require_private,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def careless() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("careless")
def test_a_missing_folder_is_made_private_and_accepted_again(tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "own")
    assert mode(folder) == 0o700
    assert own_folder(folder) == folder


@pytest.mark.parametrize("loose", [0o701, 0o750, 0o770, 0o777, 0o1777])
def test_a_folder_that_others_can_look_into_or_write_to_is_refused(tmp_path: Path, loose: int) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    folder.chmod(loose)
    with pytest.raises(NotPrivate, match=rf"loose is open to other accounts \(mode {loose:04o}\)"):
        own_folder(folder)


def test_a_symbolic_link_is_refused_wherever_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    for target in ("real", "nowhere"):
        (tmp_path / "link").symlink_to(tmp_path / target)
        with pytest.raises(NotPrivate, match="link is a symbolic link"):
            own_folder(tmp_path / "link")
        (tmp_path / "link").unlink()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o600)
    with pytest.raises(NotPrivate, match="file is not a folder"):
        own_folder(tmp_path / "file")


def test_a_folder_of_another_account_is_refused_whatever_its_mode(tmp_path: Path) -> None:
    needs_second_account()
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, STRANGER)
    with pytest.raises(NotPrivate, match=f"theirs belongs to user {STRANGER}, and you are user 0"):
        own_folder(folder)
    with pytest.raises(NotPrivate, match=f"theirs belongs to user {STRANGER}"):
        keep_others_out(folder)


def test_others_lose_what_they_could_do_in_a_folder_of_ours(tmp_path: Path) -> None:
    keep_others_out(tmp_path / "missing")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours").chmod(0o775)
    keep_others_out(tmp_path / "ours")
    require_private(tmp_path / "ours")


def test_a_place_is_safe_if_no_other_account_can_rename_in_it(temporary: Path) -> None:
    place = temporary / "place"
    place.mkdir()
    try:
        for safe in (0o700, 0o755, 0o1777):
            place.chmod(safe)
            require_place(place)
        for unsafe in (0o777, 0o775):
            place.chmod(unsafe)
            with pytest.raises(NotPrivate, match=f"may remove what is in {place}"):
                require_place(place)
            (place / "below").mkdir(mode=0o700)
            with pytest.raises(NotPrivate, match=f"may remove what is in {place} "):
                require_place(place / "below")
            (place / "below").rmdir()
    finally:
        place.rmdir()


def test_a_place_of_another_account_is_not_safe(temporary: Path) -> None:
    needs_second_account()
    place = temporary / "theirs"
    place.mkdir(mode=0o755)
    os.chown(place, STRANGER, STRANGER)
    with pytest.raises(NotPrivate, match=f"theirs belongs to user {STRANGER}"):
        require_place(place)
    place.rmdir()


def test_a_place_has_a_short_path() -> None:
    with pytest.raises(NotPrivate, match="too long a path for sockets"):
        require_place(Path("/" + "x" * PLACE_BYTES))


@pytest.mark.usefixtures("careless")
def test_what_is_made_is_not_open_to_others_under_any_umask(tmp_path: Path) -> None:
    make_private(tmp_path / "a" / "b")
    make_private(tmp_path / "a" / "b" / "c")
    assert {mode(path) for path in (tmp_path / "a").rglob("*")} == {0o700}
    assert mode(tmp_path / "a") == 0o700
    for opener, expected in ((private, 0o600), (readable, 0o644)):
        with open(tmp_path / opener.__name__, "w", opener=opener):
            assert mode(tmp_path / opener.__name__) == expected
