"""Which logs, their last lines, and what is added."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.cli import log_files
from heronpy.cli.log_files import Follower, chosen_logs, tail
from heronpy.kernel.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("count[0]", "count[1]", "counter[0]", "stream-manager-1", "stream-manager-2", "scheduler"):
        (tmp_path / f"{name}.log").write_text(f"{name} says hello\n")
    return tmp_path


@pytest.mark.parametrize(
    ("who", "names"),
    [
        ("count", ["count[0]", "count[1]"]),
        ("count[1]", ["count[1]"]),
        ("stream-manager", ["stream-manager-1", "stream-manager-2"]),
        ("stream-manager-2", ["stream-manager-2"]),
        ("scheduler", ["scheduler"]),
    ],
)
def test_a_component_an_instance_or_a_process_is_chosen(folder: Path, who: str, names: list[str]) -> None:
    assert [path.stem for path in chosen_logs(folder, who)] == names


def test_nobody_in_particular_is_everybody(folder: Path) -> None:
    assert len(chosen_logs(folder, "")) == 6


def test_an_unknown_one_gets_a_suggestion(folder: Path) -> None:
    with pytest.raises(UserError, match=r"no log of 'cuont' in .*; did you mean 'count'\?"):
        chosen_logs(folder, "cuont")


@given(st.lists(st.text("ab\r", max_size=5), max_size=30), st.integers(0, 40), st.booleans())
def test_the_tail_is_the_end_of_all_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], wanted: int, ends: bool
) -> None:
    text = "\n".join(lines) + ("\n" if ends else "")
    path = tmp_path_factory.getbasetemp() / "tail.log"
    path.write_bytes(text.encode())
    everything = text.splitlines()
    assert tail(path, wanted) == (everything[-wanted:] if wanted else [])


def test_a_large_log_is_read_from_its_end_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "PIECE", 16)
    path = tmp_path / "large.log"
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    assert tail(path, 3) == ["line 997", "line 998", "line 999"]


def test_a_follower_gives_whole_lines_and_survives_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    path.write_text("before\n")
    follower = Follower(path)
    assert list(follower.new_lines()) == []
    with path.open("a") as log:
        log.write("first\nsec")
    assert list(follower.new_lines()) == ["first"]
    with path.open("a") as log:
        log.write("ond\n")
    assert list(follower.new_lines()) == ["second"]
    path.write_text("anew\n")
    assert list(follower.new_lines()) == ["anew"]
    path.unlink()
    assert list(follower.new_lines()) == []
