"""What was uploaded for one topology goes with it, and nothing of another's."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from heronpy.container.folders import create_launch
from heronpy.container.remote.shipped import write_shipped
from heronpy.container.remote.uploads import clear_uploads, upload, uploads_of
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Registry, StateManager
from heronpy.kernel.tree.paths import Execution, Tree


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(environ={}, flags={"home": str(tmp_path)})


def submitted(config: Config, state: StateManager, name: str, code: Path) -> None:
    """As far as submit comes with uploads."""
    launch = TopologyLaunch.read(create_launch(config, name, remote=True))
    execution = Execution(launch.execution, "me", 0.0, "0", "test", "far", "localfs")
    state.set(Tree(name).execution, msgspec.json.encode(execution))
    files = upload(launch, Registry.load(), Source(str(code / "topology.py"), (), (str(code),)))
    write_shipped(state, name, files)


def test_the_same_code_of_two_topologies_is_there_until_both_are_gone(
    config: Config, state: StateManager, tmp_path: Path
) -> None:
    """Also when they are in two state trees, of which each knows one."""
    code, uploads = tmp_path / "code", tmp_path / "uploads"
    code.mkdir()
    (code / "topology.py").touch()
    submitted(config, state, "one", code)
    submitted(config, state, "two", code)
    both = {path.name for path in uploads.iterdir() if not path.name.startswith(".")}
    first, second = uploads_of(state, "one"), uploads_of(state, "two")
    assert first.isdisjoint(second)
    assert first | second == both
    clear_uploads(config, first)
    assert {path.name for path in uploads.iterdir() if not path.name.startswith(".")} == second
