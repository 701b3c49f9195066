"""A scheduler's process that begins while its topology is being killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from heronpy.container.folders import create_launch
from heronpy.container.scheduler import scheduler_host
from heronpy.kernel.config import load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.formats import NODE
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.tree.paths import Execution, Tree

TREE = Tree("t")


def test_it_starts_no_container_again(tmp_path: Path) -> None:
    """Those would be ended before they know that they have files to remove, on machines of their own."""
    config = load_config("/dev/null", environ={}, flags={"home": str(tmp_path)})
    path = create_launch(config, "t", remote=True)
    launch = TopologyLaunch.read(path)
    state = open_state(config)
    execution = Execution(launch.execution, "me", 0.0, "0", "round_robin", "local", "localfs")
    state.set(TREE.execution, NODE.encode(execution))
    state.set(TREE.leaving, b"")
    with pytest.raises(
        UserError, match=r"topology 't' is being killed \(try: heronpy kill t, if this lasts\)"
    ):
        scheduler_host.host(str(path))
    assert not state.exists(TREE.scheduler)
    state.close()
