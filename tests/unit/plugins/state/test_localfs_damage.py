"""What localfs makes of torn files, of strangers' files and of writers that died half-way."""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heronpy.kernel.errors import DamagedNode, HeronError, NodeMissing, StateError, VersionConflict
from heronpy.kernel.plugin.state_manager import Node, StateManager
from heronpy.plugins.state.localfs.record import FileRecord, decode
from heronpy.testing.contracts.state_manager import SOON, Told

Opener = Callable[[Path], StateManager]


@given(
    value=st.binary(max_size=100),
    version=st.integers(0, 2**63),
    owner=st.sampled_from(["", "0123456789abcdef"]),
)
def test_a_record_comes_back_as_it_was(value: bytes, version: int, owner: str) -> None:
    record = FileRecord(value, version, owner)
    assert decode(record.encode()) == record


@given(value=st.binary(max_size=50), data=st.data())
def test_a_record_cut_or_flipped_anywhere_is_none(value: bytes, data: st.DataObject) -> None:
    stored = FileRecord(value, 7).encode()
    at = data.draw(st.integers(0, len(stored) - 1))
    assert decode(stored[:at]) is None
    flipped = bytearray(stored)
    flipped[at] ^= data.draw(st.integers(1, 255))
    assert decode(bytes(flipped)) is None
    assert decode(stored + b"x") is None


def test_a_torn_value_is_neither_there_nor_missing(state: StateManager, tmp_path: Path) -> None:
    version = state.create("/t/plan", b"a plan")
    file = tmp_path / "state/t/plan/@value"
    file.write_bytes(file.read_bytes()[:-1])

    for call in (
        lambda: state.get("/t/plan"),
        lambda: state.set("/t/plan", b"x", version=version),
        lambda: state.create("/t/plan", b"x"),
        lambda: state.create("/t/plan", b"x", ephemeral=True),
    ):
        with pytest.raises(DamagedNode, match=r"the node /t/plan of the state tree is damaged"):
            call()
    assert state.exists("/t/plan")
    assert state.children("/t") == ["plan"]
    repaired = state.repair("/t/plan", b"again")
    assert repaired > version
    assert state.get("/t/plan") == Node(b"again", repaired)


def test_what_is_not_damaged_is_not_repaired(state: StateManager) -> None:
    state.create("/t/plan", b"a plan")
    for path in ("/t/plan", "/t", "/other"):
        with pytest.raises(VersionConflict, match=f"the node {path} is not damaged"):
            state.repair(path, b"x")
    assert state.get("/t/plan").value == b"a plan"
    assert not state.exists("/other")


def test_a_torn_value_can_be_deleted_and_set_without_a_version(state: StateManager, tmp_path: Path) -> None:
    for path in ("/t/one", "/t/two"):
        state.create(path, b"a plan")
        (tmp_path / f"state{path}/@value").write_bytes(b"")
    state.delete("/t/one")
    state.set("/t/two", b"again")
    assert state.children("/t") == ["two"]
    assert state.get("/t/two").value == b"again"


def test_a_torn_node_of_a_dead_owner_goes_with_it(open_state: Opener, tmp_path: Path) -> None:
    owner = open_state(tmp_path)
    owner.create("/t/pulse", b"alive", ephemeral=True)
    (tmp_path / "state/t/pulse/@owned").write_bytes(b"")
    owner.close()
    assert open_state(tmp_path).children("/") == []


def torn_and_left(owner: StateManager, tmp_path: Path) -> None:
    """The nodes of a session that ended just before a power cut: its file is gone, their folders are not."""
    shutil.copytree(tmp_path / "state/t", tmp_path / "kept")
    owner.close()
    shutil.move(tmp_path / "kept", tmp_path / "state/t")
    for path in (tmp_path / "state/t").rglob("@*"):
        path.write_bytes(b"")


def test_a_torn_ephemeral_node_without_a_session_is_nobodys(open_state: Opener, tmp_path: Path) -> None:
    state, owner = open_state(tmp_path), open_state(tmp_path)
    for name in ("scheduler", "master", "clients"):
        owner.create(f"/t/{name}", b"alive", ephemeral=True)
    torn_and_left(owner, tmp_path)
    assert not state.exists("/t/scheduler")
    state.create("/t/scheduler", b"another", ephemeral=True)
    state.create("/t/master", b"another", ephemeral=True)
    assert state.children("/t") == ["master", "scheduler"]


def test_a_torn_ephemeral_node_of_a_living_owner_stays_until_that_one_makes_it_again(
    open_state: Opener, tmp_path: Path
) -> None:
    state, owner = open_state(tmp_path), open_state(tmp_path)
    owner.create("/t/scheduler", b"alive", ephemeral=True)
    (tmp_path / "state/t/scheduler/@owned").write_bytes(b"")
    for call in (
        lambda: state.get("/t/scheduler"),
        lambda: state.create("/t/scheduler", b"another", ephemeral=True),
    ):
        with pytest.raises(DamagedNode, match="the node /t/scheduler of the state tree is damaged"):
            call()
    assert state.children("/t") == ["scheduler"]
    owner.delete("/t/scheduler")
    owner.create("/t/scheduler", b"alive", ephemeral=True)
    assert state.get("/t/scheduler").value == b"alive"


def test_a_node_that_stays_takes_the_place_of_a_torn_ephemeral_one(
    state: StateManager, tmp_path: Path
) -> None:
    state.create("/t/plan", b"for now", ephemeral=True)
    (tmp_path / "state/t/plan/@owned").write_bytes(b"")
    state.repair("/t/plan", b"for good")
    assert state.get("/t/plan").value == b"for good"
    assert [path.name for path in (tmp_path / "state/t/plan").iterdir()] == ["@value"]


def test_a_torn_node_that_is_made_again_is_told_to_who_watches_it(
    state: StateManager, tmp_path: Path
) -> None:
    state.create("/t/plan", b"a plan")
    (tmp_path / "state/t/plan/@value").write_bytes(b"")
    told = Told()
    state.watch("/t/plan", told)
    state.repair("/t/plan", b"again")
    assert told.within(SOON)


def test_a_value_of_a_later_format_is_refused(state: StateManager, tmp_path: Path) -> None:
    state.create("/t", b"x")
    file = tmp_path / "state/t/@value"
    file.write_bytes(later_format(FileRecord(b"x", 1)))
    with pytest.raises(StateError, match="written in format 9"):
        state.get("/t")


def test_what_a_dead_writer_left_is_cleared(open_state: Opener, tmp_path: Path) -> None:
    open_state(tmp_path).create("/t", b"x")
    scratch = tmp_path / "state/@tmp"
    (scratch / "half").write_bytes(b"half a val")
    (scratch / "folder/deep").mkdir(parents=True)
    assert open_state(tmp_path).get("/t").value == b"x"
    assert list(scratch.iterdir()) == []


def test_a_damaged_session_file_stops_nobody(open_state: Opener, tmp_path: Path) -> None:
    open_state(tmp_path).create("/t", b"x")
    (tmp_path / "state/@sessions/0123456789abcdef").write_bytes(b"../../etc\n/t/\xff\n/t\n/cut")
    state = open_state(tmp_path)
    assert state.children("/") == ["t"]
    assert list((tmp_path / "state/@sessions").iterdir()) == []


def test_a_lost_version_counter_repeats_no_version(open_state: Opener, tmp_path: Path) -> None:
    state = open_state(tmp_path)
    before = [state.set("/t", b"") for _ in range(3)]
    state.delete("/t")
    state.close()
    (tmp_path / "state/@version").unlink()
    assert open_state(tmp_path).create("/t", b"") > max(before)


def test_a_symbolic_link_in_the_tree_is_not_followed(state: StateManager, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "@value").write_bytes(FileRecord(b"secret", 1).encode())
    (tmp_path / "state/link").symlink_to(outside)
    with pytest.raises(NodeMissing):
        state.get("/link")
    with pytest.raises(StateError):
        state.create("/link/x", b"")
    state.delete("/link", recursive=True)
    assert [entry.name for entry in outside.iterdir()] == ["@value"]


@given(path=st.text(max_size=30) | st.text(alphabet="a./@%2e\0~", max_size=12))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_reaches_outside_the_folder(state: StateManager, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "precious"
    outside.write_bytes(b"keep")
    for call in (
        lambda: state.set(path, b"x"),
        lambda: state.create(f"/{path}/x", b"x", ephemeral=True),
        lambda: state.delete(path, recursive=True),
        lambda: state.delete(f"/{path}", recursive=True),
    ):
        try:
            call()
        except HeronError as error:
            assert isinstance(error, StateError)  # noqa: PT017
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["precious", "state"]
    assert outside.read_bytes() == b"keep"
    assert list((tmp_path / "state/@tmp").iterdir()) == []


def later_format(record: FileRecord) -> bytes:
    stored = bytearray(record.encode())
    stored[4] = 9
    header = bytes(stored[:36])
    crc = zlib.crc32(record.value, zlib.crc32(header))
    return header + struct.pack("<I", crc) + record.value
