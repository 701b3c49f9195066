"""What the engine has made durable is there after a power cut, also where another has made the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.faults.power.synced_disk import SyncedDisk


@pytest.fixture
def disk(tmp_path: Path, synced_library: Path) -> SyncedDisk:
    (tmp_path / "disk").mkdir()
    return SyncedDisk(tmp_path / "disk", tmp_path / "notes", synced_library)


def do(disk: SyncedDisk, program: str) -> str:
    """In a process that uses the disk."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=disk.folder,
        env={**os.environ, **disk.environment(), "HERONPY_HOME": str(disk.folder / "home")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


OPEN = """
from heronpy.kernel.config import load_config
from heronpy.kernel.plugin.opening import open_checkpoint_store, open_state
state = open_state(load_config())
"""


def test_a_node_below_one_that_ends_with_its_process(disk: SyncedDisk) -> None:
    """The folders of the first were made without a sync: nobody wants them after a power cut."""
    do(
        disk,
        OPEN
        + "state.create('/words/containers/1/alive', b'', ephemeral=True)\n"
        + "state.set('/words/containers/1/incarnation', b'7')\n",
    )
    disk.cut()
    found = do(
        disk, OPEN + "print(state.get('/words/containers/1/incarnation').value, state.children('/words'))"
    )
    assert found == "b'7' ['containers']\n"


def test_an_object_in_a_folder_whose_maker_died_before_it_was_durable(disk: SyncedDisk) -> None:
    store = OPEN + "store = open_checkpoint_store(load_config())\n"
    do(disk, store + "import os; os.makedirs('home/checkpoints/words/x', 0o700)")
    do(disk, store + "store.write('words/x/1/part', [b'data'])")
    disk.cut()
    assert do(disk, store + "print(store.names(''), store.read('words/x/1/part'))") == (
        "['words/x/1/part'] b'data'\n"
    )
