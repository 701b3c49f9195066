"""A launch file that the disk has damaged: named in one line, and a kill rebuilds what it needs of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from support.faults.damage import DAMAGES, damage

from heronpy.container.folders import create_launch
from heronpy.container.launch_facts import launch_of
from heronpy.container.processes import child
from heronpy.container.watchdog import watchdog_process
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.launch import LaunchDamaged, TopologyLaunch
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.tree.paths import Execution, Tree


@pytest.fixture
def config(tmp_path: Path) -> Config:
    # not where the fixtures of this folder look for launch files that they can read
    return load_config(os.devnull, environ={}, flags={"home": str(tmp_path / "home")})


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    with closing(open_state(config)) as opened:
        yield opened


@pytest.fixture
def file(config: Config) -> Iterator[Path]:
    path = create_launch(config, "words")
    sockets = Path(TopologyLaunch.read(path).sockets)
    yield path
    sockets.rmdir()


def as_written(launch: TopologyLaunch | None) -> bytes:
    """Tuples of settings are lists once they were in a file."""
    assert launch is not None
    return launch.to_json()


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_named_with_what_to_do(file: Path, kind: str) -> None:
    damage(file, kind)
    with pytest.raises(LaunchDamaged) as told:
        TopologyLaunch.read(file)
    assert str(told.value).startswith(f"the launch file {file} is damaged: ")
    assert str(told.value).endswith(
        " (try: heronpy kill NAME --keep-checkpoints, which works without it, then heronpy submit FILE,"
        " with --from NAME if it has checkpoints)"
    )
    assert "\n" not in str(told.value)


def test_a_file_that_cannot_be_read_is_damaged_and_a_missing_one_is_missing(file: Path) -> None:
    file.unlink()
    with pytest.raises(FileNotFoundError):
        TopologyLaunch.read(file)
    file.mkdir()
    with pytest.raises(LaunchDamaged, match="Is a directory"):
        TopologyLaunch.read(file)


@pytest.mark.parametrize(
    "start",
    [lambda file: child.main([file, "{}"]), lambda file: watchdog_process.main([file])],
    ids=["child", "keeper"],
)
def test_a_process_that_starts_with_it_says_one_line(file: Path, start: object) -> None:
    damage(file, "cut in half")
    with pytest.raises(SystemExit, match=r"error: the launch file .* is damaged: "):
        start(str(file))  # type: ignore[operator]


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_kill_knows_the_same_without_the_file(
    config: Config, state: StateManager, file: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    launch = TopologyLaunch.read(file)
    execution = Execution(launch.execution, "me", 0.0, "0", "round_robin", "local", "localfs")
    state.set(Tree("words").execution, msgspec.json.encode(execution))
    damage(file, kind)
    with caplog.at_level(logging.WARNING):
        assert as_written(launch_of(config, state, "words")) == as_written(launch)
    assert caplog.messages[0].endswith("; continuing with the state tree and the settings of this command")


def test_without_a_state_tree_its_processes_and_sockets_are_still_known(
    config: Config, state: StateManager, file: Path
) -> None:
    launch = TopologyLaunch.read(file)
    damage(file, "emptied")
    known = launch_of(config, state, "words")
    assert as_written(known) == as_written(msgspec.structs.replace(launch, execution=""))
