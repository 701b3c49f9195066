"""heronpy kill of what is not quite there: what may run elsewhere is not cleared away here."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest
from support.faults.damage import DAMAGES, damage

from heronpy.container.folders import create_launch
from heronpy.container.scheduler import scheduler_host
from heronpy.container.scheduler.scheduler_handle import SchedulerNode
from heronpy.kernel.config import load_config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.request_nodes import answer_request
from heronpy.kernel.tree.requests import pending_requests

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


@pytest.mark.parametrize("kind", DAMAGES)
def test_files_with_a_damaged_launch_file_go_though_no_tree_knows_them(
    heronpy: Heronpy, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = load_config("/dev/null", environ={}, flags={"home": str(tmp_path / "home")})
    file = create_launch(config, "words")
    sockets = Path(TopologyLaunch.read(file).sockets)
    damage(file, kind)
    done = heronpy("kill", "words")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "words is gone\n", "")
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert caplog.messages[0].startswith(f"the launch file {file} is damaged: ")
    assert caplog.messages[1] == "the checkpoints of words are not known: none is removed"
    assert not file.parent.exists()
    assert not sockets.exists()


WORDS = """
from heronpy import Bolt, Spout, Topology

class Words(Spout):
    outputs = ["word"]
    def next_tuple(self): ...

class Sink(Bolt):
    def process(self, tup): ...

class Copy(Topology):
    words = Words.spec()
    sink = Sink.spec(inputs=[words])
"""


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_launch_file_ends_no_verb_in_a_traceback(
    heronpy: Heronpy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(scheduler_host, "start", lambda path: None)
    (tmp_path / "copy.py").write_text(WORDS)
    assert heronpy("submit", str(tmp_path / "copy.py"), "--no-wait").exit_code == 0
    work = tmp_path / "home" / "topologies" / "Copy"
    sockets = Path(TopologyLaunch.read(work / "launch.json").sockets)
    (work / "logs" / "sink[0].log").write_text("one\ntwo\n")
    damage(work / "launch.json", kind)

    assert heronpy("logs", "Copy", "sink[0]").stdout == "one\ntwo\n"
    told = heronpy("checkpoints", "Copy")
    assert told.exit_code == 1
    assert told.stderr.startswith(f"error: the launch file {work}/launch.json is damaged: ")
    assert heronpy("kill", "Copy").stdout == "Copy is gone\n"
    assert not work.exists()
    assert not sockets.exists()


def test_what_the_schedulers_process_cannot_do_is_done_here(
    heronpy: Heronpy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(scheduler_host, "start", lambda path: None)
    (tmp_path / "copy.py").write_text(WORDS)
    assert heronpy("submit", str(tmp_path / "copy.py"), "--no-wait").exit_code == 0
    tree = Tree("Copy")
    state = open_state(load_config("/dev/null", environ={}, flags={"home": str(tmp_path / "home")}))
    node = SchedulerNode(pid=1, host="elsewhere", started=1, boot="of another machine")
    state.create(tree.scheduler, msgspec.json.encode(node), ephemeral=True)

    def refuse() -> None:
        for path, request in pending_requests(state, "Copy"):
            answer_request(state, path, request, "its plugin has a mistake")
            # it cannot be killed from here, where it does not run: its end is seen by its node
            threading.Thread(target=state.delete, args=(tree.scheduler,)).start()

    watch = state.watch(tree.requests, refuse)
    done = heronpy("kill", "Copy")
    watch.cancel()
    assert (done.exit_code, done.stdout) == (0, "Copy is gone\n")
    assert caplog.messages == ["the scheduler's process could not end Copy: its plugin has a mistake"]
    assert state.children("/") == []
    assert not (tmp_path / "home" / "topologies" / "Copy").exists()
    state.close()
