"""A topology of a later version: every verb but `kill` refuses it in one line, and `kill` ends it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from heronpy.container.scheduler import scheduler_host
from heronpy.kernel.config import load_config
from heronpy.kernel.plugin.opening import open_state

Heronpy = Callable[..., Result]

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


def of_later(data: bytes, *, other: bool) -> bytes:
    """`other`: in which each field means something else, too."""
    found: dict[str, Any] = json.loads(data)
    fields = {name: [name] for name in found} if other else found
    return json.dumps({**fields, "format": 3, "heronpy": "0.4.0"}).encode()


@pytest.mark.parametrize(
    ("other", "options"), [(False, ()), (True, ("--keep-logs",)), (True, ("--keep-checkpoints",))]
)
def test_a_topology_of_a_later_version_can_be_killed(
    heronpy: Heronpy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: bool,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setattr(scheduler_host, "start", lambda path: None)
    (tmp_path / "copy.py").write_text(WORDS)
    assert heronpy("submit", str(tmp_path / "copy.py"), "--no-wait").exit_code == 0
    home = tmp_path / "home"
    work, launch = home / "topologies" / "Copy", home / "topologies" / "Copy" / "launch.json"
    state = open_state(load_config("/dev/null", environ={}, flags={"home": str(home)}))
    nodes = [f"/Copy/{name}" for name in state.children("/Copy")]
    assert nodes
    for path in nodes:
        state.set(path, of_later(state.get(path).value, other=other))
    launch.write_bytes(of_later(launch.read_bytes(), other=other))

    for verb in (("status", "Copy"), ("checkpoints", "Copy"), ("update", "Copy", "sink=2")):
        told = heronpy(*verb)
        assert told.exit_code == 1, (verb, told.output)
        # where a topology has to be revived, the line before says so: here nothing is started
        line = told.stderr.splitlines()[-1]
        assert line.startswith("error: "), verb
        assert "was written in format 3 by heronpy 0.4.0; this is heronpy" in line, verb
    done = heronpy("kill", "Copy", *options)
    assert (done.exit_code, done.stdout) == (0, "Copy is gone\n"), done.output
    assert state.children("/") == []
    assert not launch.exists()
    assert work.exists() == ("--keep-logs" in options)
    state.close()
