"""heronpy kill of what is not quite there: what may run elsewhere is not cleared away here."""

from __future__ import annotations

from pathlib import Path

from heronpy.container.folders import create_launch
from heronpy.kernel.config import load_config

from .conftest import Heronpy


def test_a_topology_in_another_state_tree_keeps_its_files(heronpy: Heronpy, tmp_path: Path) -> None:
    flags = {"state.manager": "zookeeper", "state.zookeeper.hosts": "10.0.0.1:2181"}
    home = {"home": str(tmp_path / "home")}
    file = create_launch(load_config("/dev/null", environ={}, flags={**home, **flags}), "words", remote=True)
    done = heronpy("kill", "words")
    assert done.exit_code == 1
    assert done.stderr == (
        "error: 'words' was submitted from here with another state tree than the one that is asked now"
        " (try: heronpy kill words --set state.manager=zookeeper --set state.zookeeper.hosts=10.0.0.1:2181)\n"
    )
    assert file.exists()


def test_what_a_crash_has_left_of_one_that_no_tree_knows_goes(heronpy: Heronpy, tmp_path: Path) -> None:
    config = load_config("/dev/null", environ={}, flags={"home": str(tmp_path / "home")})
    file = create_launch(config, "words", remote=True)
    done = heronpy("kill", "words")
    assert (done.exit_code, done.stdout) == (0, "words is gone\n")
    assert not file.parent.exists()
