"""Which logs, their last lines, and what is added."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.cli.reading import log_tail
from heronpy.cli.reading.log_tail import LogFolder, LogFollower, chosen_logs, require_logs, tail
from heronpy.kernel.errors import UserError

NAMES = [
    *("count[0]", "count[1]", "counter[0]", "stream-manager-1", "stream-manager-2", "scheduler"),
    *("topology-master", "container-0", "container-1"),
]


def last_lines(path: Path, lines: int) -> list[str]:
    return tail(LogFolder(path.parent), path.stem, range(path.stat().st_size), lines)


@pytest.mark.parametrize(
    ("who", "names"),
    [
        ("count", ["count[0]", "count[1]"]),
        ("count[1]", ["count[1]"]),
        ("stream-manager", ["stream-manager-1", "stream-manager-2"]),
        ("stream-manager-2", ["stream-manager-2"]),
        ("scheduler", ["scheduler"]),
        ("keeper", ["scheduler"]),
        ("master", ["topology-master"]),
        ("topology_master", ["topology-master"]),
        ("executor", ["container-0", "container-1"]),
        ("executor-1", ["container-1"]),
        ("zygote", ["container-0", "container-1"]),
        ("stream_manager", ["stream-manager-1", "stream-manager-2"]),
        ("stream-manager-", ["stream-manager-1", "stream-manager-2"]),
    ],
)
def test_a_component_an_instance_or_a_process_is_chosen(who: str, names: list[str]) -> None:
    assert chosen_logs(NAMES, who) == names


def test_a_component_that_is_called_like_a_process_is_meant() -> None:
    assert chosen_logs([*NAMES, "master[0]"], "master") == ["master[0]"]


def test_nobody_in_particular_is_everybody() -> None:
    assert require_logs(NAMES, "") == sorted(NAMES)


def test_an_unknown_one_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"^no log of 'cuont'; did you mean 'count'\?$"):
        require_logs(NAMES, "cuont")


def test_a_folder_has_the_logs_in_it_and_their_sizes(tmp_path: Path) -> None:
    for name in ("count[1]", "count[0]"):
        (tmp_path / f"{name}.log").write_text(f"{name} says hello\n")
    (tmp_path / "launch.json").write_text("{}")
    (tmp_path / "folder.log").mkdir()
    (tmp_path / "link.log").symlink_to(tmp_path / "launch.json")
    assert LogFolder(tmp_path).extents() == {"count[0]": range(20), "count[1]": range(20)}
    assert LogFolder(tmp_path / "none").extents() == {}
    assert LogFolder(tmp_path / "none").read("count[0]", 0, 10) == b""


@given(st.lists(st.text("ab\r", max_size=5), max_size=30), st.integers(0, 40), st.booleans())
def test_the_tail_is_the_end_of_all_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], wanted: int, ends: bool
) -> None:
    text = "\n".join(lines) + ("\n" if ends else "")
    path = tmp_path_factory.getbasetemp() / "tail.log"
    path.write_bytes(text.encode())
    everything = text.splitlines()
    assert last_lines(path, wanted) == (everything[-wanted:] if wanted else [])


def test_a_large_log_is_read_from_its_end_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_tail, "PIECE", 16)
    path = tmp_path / "large.log"
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    assert last_lines(path, 3) == ["line 997", "line 998", "line 999"]


def test_a_follower_gives_whole_lines_and_survives_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_tail, "MOST", 3)
    path = tmp_path / "one.log"
    path.write_text("before\n")
    logs = LogFolder(tmp_path)
    follower = LogFollower(logs, "one", position=7)

    def new_lines() -> list[str]:
        return list(follower.new_lines(logs.extents().get("one", range(0))))

    assert new_lines() == []
    with path.open("a") as log:
        log.write("first\nsec")
    assert new_lines() == ["first"]
    with path.open("a") as log:
        log.write("ond\n")
    assert new_lines() == ["second"]
    path.write_text("anew\n")
    assert [new_lines(), new_lines()] == [[], ["anew"]]
    path.unlink()
    assert new_lines() == []
