"""The checkpoints in tests/fixtures, made by the versions in their names, are read as they were saved."""

from __future__ import annotations

import datetime
import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from support.tasks.shelf import Shelf

from heronpy.instances.saving.sink_transactions import decode_handles
from heronpy.instances.saving.state import TaskState, load_checkpoint
from heronpy.instances.saving.state.state_loader import Saved
from heronpy.kernel.checkpoints.lookup import find_checkpoints
from heronpy.kernel.checkpoints.manifest import read_manifest, read_part
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.formats import RELEASE
from heronpy.testing.placing import placed

FIXTURES = Path(__file__).parent.parent.parent.parent / "fixtures"
CHECKPOINTS = sorted(FIXTURES.glob("checkpoint-*"))
#: what both splits have emitted
NUMBERS = sorted([*range(50), *range(50)])


def mode_of(folder: Path) -> str:
    return "EFFECTIVELY_ONCE" if folder.name.endswith("effectively-once") else "ATLEAST_ONCE"


class Restored:
    """The topology, with what each of its tasks has been given."""

    def __init__(self, folder: Path) -> None:
        self.store = Shelf()
        for path in folder.rglob("*"):
            if path.is_file():
                self.store.write(str(path.relative_to(folder)), [path.read_bytes()])
        topology = runpy.run_path(str(FIXTURES / "saved.py"), run_name="saved")["Saved"]
        self._plan, self._find = placed(topology, 1)
        (found,) = find_checkpoints(self.store, "Saved")
        self.ref: CheckpointRef = found.ref

    def saved(self, component: str) -> Saved:
        (task,) = self._plan.tasks_of(component)
        return load_checkpoint(self.store, self.ref, self._plan, task.id)

    def state(self, component: str) -> dict[Any, Any]:
        (task,) = self._plan.tasks_of(component)
        state = TaskState(self._plan, task.id, self._find(self._plan.logical.component(component).class_path))
        state.restore(self.saved(component))
        return dict(state.open())


@pytest.fixture(params=CHECKPOINTS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def restored(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Restored:
    monkeypatch.setattr(sys, "argv", ["saved.py", mode_of(folder), "50", str(tmp_path)])
    return Restored(folder)


def test_there_is_one_of_this_version_for_each_guarantee_that_writes_them() -> None:
    wanted = {f"checkpoint-{RELEASE}-{mode}" for mode in ("effectively-once", "atleast-once")}
    assert wanted <= {path.name for path in CHECKPOINTS}, "try: make fixtures"


def test_keyed_state_and_positions(restored: Restored) -> None:
    assert restored.state("count") == {digit: (10, datetime.date(2026, 11, 17)) for digit in range(10)}
    assert restored.state("numbers") == {"left": 50, "right": 50}


def test_windows(restored: Restored) -> None:
    state = restored.state("window")
    assert state.keys() == {"tuples", "saved_at", "ticked"}
    assert sorted(held.number for held in state["tuples"]) == NUMBERS
    assert {held.component for held in state["tuples"]} == {"numbers"}
    assert state["ticked"] <= state["saved_at"]


def test_transactions(restored: Restored, folder: Path) -> None:
    handles = [handle for extras in restored.saved("rows").extras for handle in decode_handles(extras)]
    if mode_of(folder) == "EFFECTIVELY_ONCE":
        assert [json.loads(handle) for handle in handles] == [[1, *NUMBERS]]
    else:
        # there a sink commits by the clock: what was prepared is at most what has been written
        assert all(set(json.loads(handle)[1:]) <= set(NUMBERS) for handle in handles)


def test_nothing_in_it_names_a_module_of_the_engine(restored: Restored) -> None:
    """So that it can be read wherever code is moved to."""
    for part in read_manifest(restored.store, restored.ref).parts().values():
        data = read_part(restored.store, part)
        assert re.findall(rb"heronpy[.\w]+", data) == []
        named = set(re.findall(rb"heronpy\x94\x8c.(\w+?)\x94", data))
        assert named <= {b"saved_tuple", b"saved_id"}
