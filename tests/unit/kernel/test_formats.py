"""What another version stored is refused in one line that says which version reads it."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.tasks.shelf import Shelf

from heronpy.connectors.files.folder import FileWriter
from heronpy.connectors.sqlite.row_writer import RowWriter
from heronpy.container.execution import is_current, read_execution
from heronpy.container.folders import create_launch
from heronpy.container.remote.parcel import bootstrap
from heronpy.container.remote.shipped import read_shipped, write_shipped
from heronpy.instances.saving.state.object_format import Sections, read_object, write_object
from heronpy.kernel import formats
from heronpy.kernel.checkpoints.manifest import Manifest, checksum, read_manifest, write_manifest
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import CheckpointDamaged, DamagedNode, OtherFormat, StateError
from heronpy.kernel.flow import frame
from heronpy.kernel.formats import HANDLE, LAUNCH, LONG, NODE, RELEASE, SPARK, Compressed, Format
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import LogicalPlan, PackingPlan
from heronpy.kernel.plugin import Shipped, StateManager
from heronpy.kernel.protocol import envelope
from heronpy.kernel.tree.paths import Execution, Live, Tree
from heronpy.kernel.tree.registrations import read
from heronpy.kernel.tree.requests import Request, pending_requests
from heronpy.plugins.state.localfs import record as localfs_record
from heronpy.plugins.state.localfs.manager import LocalFsStateManager
from heronpy.plugins.state.zookeeper import record as zookeeper_record

PYPROJECT = Path(__file__).parent.parent.parent.parent / "pyproject.toml"
TREE = Tree("words")
EXECUTION = Execution("id", "me", 0.0, "0", "test", "local", "localfs")


def refused(what: str, reads: str = "1") -> str:
    ours = f"this is heronpy {RELEASE}, which reads format {reads}"
    return f"{what} was written in format 3 by heronpy 0.4.0; {ours} (try: use heronpy 0.4.0)"


def newer(data: bytes) -> bytes:
    """As a version to come may have written it, in which each field is something else."""
    found: dict[str, Any] = json.loads(data)
    assert list(found)[:2] == ["format", "heronpy"]
    assert (found["format"], found["heronpy"]) == (1, RELEASE)
    return json.dumps({"format": 3, "heronpy": "0.4.0"} | {name: [name] for name in list(found)[2:]}).encode()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(os.devnull, environ={}, flags={"home": str(tmp_path)})


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    manager = LocalFsStateManager()
    manager.initialize(config)
    yield manager
    manager.close()


def test_the_release_is_that_of_the_package() -> None:
    assert tomllib.loads(PYPROJECT.read_text())["project"]["version"] == RELEASE


def test_every_format_is_read_by_the_version_that_writes_it() -> None:
    found = [each for each in vars(formats).values() if isinstance(each, Format)]
    assert len(found) == 8
    assert all(each.written in each.read for each in found)
    assert LAUNCH.written == bootstrap.FORMAT
    assert formats.PROTOCOL == frame.VERSION == envelope.PROTOCOL_VERSION


def test_a_version_that_reads_two_formats_says_so() -> None:
    with pytest.raises(
        OtherFormat, match=r"which reads format 2 and 3 \(try: use the version that wrote it\)$"
    ):
        Format(3, frozenset({2, 3})).check(1, "", "a thing")


def test_what_has_no_format_yet_is_of_the_first() -> None:
    assert NODE.decode(b'{"state": "PAUSED"}', Live, "live") == Live("PAUSED")
    with pytest.raises(OtherFormat, match=r"^live was written in format 1 by another heronpy;"):
        Format(2, frozenset({2})).decode(b'{"state": "PAUSED"}', Live, "live")


def test_nodes_of_the_state_tree(state: StateManager) -> None:
    state.set(TREE.live, newer(NODE.encode(Live("PAUSED"))))
    with pytest.raises(StateError) as error:
        read(state, TREE.live, Live)
    assert isinstance(error.value, OtherFormat)
    assert str(error.value) == refused("/words/live", "1 and 2")
    write_shipped(state, "words", (Shipped("a", "", "", "", 0),))
    assert read_shipped(state, "words") == (Shipped("a", "", "", "", 0),)
    state.set(TREE.shipped, newer(state.get(TREE.shipped).value))
    with pytest.raises(OtherFormat):
        read_shipped(state, "words")


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (LogicalPlan("words", ()), "the definition of a topology"),
        (PackingPlan("words", "test", (), 1), "a packing plan"),
        (Checkpoints(), "the checkpoints of a topology"),
    ],
)
def test_plans_and_checkpoints(value: Any, what: str) -> None:
    assert type(value).from_json(value.to_json()) == value
    with pytest.raises(OtherFormat) as error:
        type(value).from_json(newer(value.to_json()))
    assert str(error.value) == refused(what, "1 and 2")


def test_a_long_node_is_compressed_in_a_format_of_its_own(state: StateManager) -> None:
    short, long = (Live("PAUSED", {"count": {"words": "x" * length}}) for length in (LONG - 100, LONG))
    assert json.loads(NODE.encode(short))["format"] == 1
    written = NODE.encode(long)
    assert list(json.loads(written)) == ["format", "heronpy", "deflated"]
    assert json.loads(written)["format"] == 2
    assert len(written) < 1024
    state.set(TREE.live, written)
    assert read(state, TREE.live, Live) == long
    assert NODE.decode(written, Live, "live", any_format=True) == long
    assert json.loads(HANDLE.encode(long))["format"] == 1
    with pytest.raises(
        OtherFormat, match=r"^live was written in format 2 by heronpy .* which reads format 1 "
    ):
        HANDLE.decode(written, Live, "live")


def test_a_long_node_that_is_damaged_says_so(state: StateManager, monkeypatch: pytest.MonkeyPatch) -> None:
    long = NODE.encode(Live("x" * LONG))
    fields = msgspec.json.decode(long, type=Compressed).deflated
    for damaged, why in ((fields[:-9], "are cut short"), (b"?" + fields[1:], "are damaged: ")):
        state.set(TREE.live, msgspec.json.encode(Compressed(2, RELEASE, damaged)))
        with pytest.raises(DamagedNode, match=f"it cannot be decoded: its compressed fields {why}"):
            read(state, TREE.live, Live)
    monkeypatch.setattr(formats, "LONGEST", LONG)
    with pytest.raises(msgspec.DecodeError, match=f"longer than {LONG} bytes"):
        NODE.decode(long, Live, "live")


def test_a_process_whose_topology_was_submitted_anew_by_another_version_leaves(
    state: StateManager, config: Config
) -> None:
    launch = TopologyLaunch.read(create_launch(config, "words", remote=True))
    state.set(TREE.execution, newer(NODE.encode(EXECUTION)))
    assert not is_current(state, launch)
    with pytest.raises(OtherFormat):
        read_execution(state, "words")


def test_a_request_of_another_version_is_put_aside(state: StateManager) -> None:
    path = f"{TREE.requests}/one"
    state.create(path, newer(NODE.encode(Request(kind="kill"))))
    assert pending_requests(state, "words") == []
    assert not state.exists(path)


def test_records_of_the_state_managers() -> None:
    local = bytearray(localfs_record.FileRecord(b"value", 7).encode())
    assert localfs_record.decode(bytes(local)) == localfs_record.FileRecord(b"value", 7)
    local[4:8] = 3, 0, 4, 0
    crc = zlib.crc32(b"value", zlib.crc32(local[:-9]))
    local[-9:-5] = crc.to_bytes(4, "little")
    with pytest.raises(OtherFormat) as error:
        localfs_record.decode(bytes(local))
    assert str(error.value) == refused("the state folder")
    whole = zookeeper_record.ZNodeRecord(zookeeper_record.new_nonce(), b"value")
    assert zookeeper_record.decode(whole.encode()) == whole
    assert zookeeper_record.decode(b"") is None
    body = whole.encode()[8:]
    crc = zlib.crc32(body, zlib.crc32(bytes([3, 0, 4, 0])))
    with pytest.raises(OtherFormat) as error:
        zookeeper_record.decode(bytes([3, 0, 4, 0]) + crc.to_bytes(4, "little") + body)
    assert str(error.value) == refused("the state tree in ZooKeeper")


def test_launch_files(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    path = create_launch(config, "words", remote=True)
    before = path.read_bytes()
    path.write_bytes(newer(before))
    with pytest.raises(OtherFormat) as error:
        TopologyLaunch.read(path)
    assert str(error.value) == refused(f"the launch file {path}")
    with pytest.raises(SystemExit, match=r"^error: the launch file "):
        TopologyLaunch.read_or_exit(path)


def test_a_process_that_speaks_another_protocol_does_not_start(config: Config) -> None:
    path = create_launch(config, "words", remote=True)
    found = json.loads(path.read_bytes())
    assert found["launch"]["protocol"] == formats.PROTOCOL
    launch = json.dumps({**found["launch"], "protocol": 3})
    seal = hashlib.sha256(launch.encode()).hexdigest()
    path.write_text(f'{{"format": 1, "heronpy": "0.4.0", "sha256": "{seal}", "launch": {launch}}}')
    with pytest.raises(SystemExit) as left:
        TopologyLaunch.read_or_exit(path)
    assert left.value.code == (
        "error: the processes of 'words' speak protocol 3 of heronpy 0.4.0;"
        f" this is heronpy {RELEASE}, which speaks protocol 2 (try: use heronpy 0.4.0)"
    )


def test_manifests() -> None:
    store = Shelf()
    ref = write_manifest(store, Manifest(topology="words", execution="x", id=1, key_groups=4))
    assert read_manifest(store, ref).key_groups == 4
    data = newer(store.read(ref.manifest))
    store.write(ref.manifest, [data])
    with pytest.raises(CheckpointDamaged) as error:
        read_manifest(store, CheckpointRef(1, ref.manifest, checksum(data)))
    assert isinstance(error.value, OtherFormat)
    assert str(error.value) == refused(f"the manifest {ref.manifest}")


def test_the_state_of_tasks() -> None:
    sections = Sections({1: b"one"}, {"rows": b"two"})
    data = b"".join(write_object(sections)[0])
    assert data.startswith(f"heronpy state 1 {RELEASE}\n".encode())
    assert read_object("x", data) == sections
    with pytest.raises(OtherFormat) as error:
        read_object("x", data.replace(f"1 {RELEASE}".encode(), b"3 0.4.0"))
    assert str(error.value) == refused("object x in the checkpoint store")
    with pytest.raises(CheckpointDamaged, match=r"^object x in the checkpoint store is no state of a task"):
        read_object("x", b"something else")


def test_handles_of_sinks(tmp_path: Path) -> None:
    writers = {
        "files": FileWriter(tmp_path, "owner", ".txt", line=str),
        "SQLite": RowWriter(tmp_path / "database", "owner", "sink"),
    }
    for system, writer in writers.items():
        with pytest.raises(OtherFormat, match=rf"^a transaction of {system} was written in format 3"):
            writer.commit(newer(HANDLE.encode(Live("anything"))))
        writer.close()


def test_lines_in_front_of_rows() -> None:
    line = SPARK.first_line("rows")
    assert SPARK.behind_line(line + b"x", "rows", "x") == len(line)
    assert SPARK.behind_line(b"x", "rows", "x") == 0
    with pytest.raises(OtherFormat) as error:
        SPARK.behind_line(b"heronpy rows 3 0.4.0\n", "rows", "the object x")
    assert str(error.value) == refused("the object x")
