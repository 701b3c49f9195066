"""The verbs against real processes: foreground runs, starts that fail, and starts that take too long."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine
from support.running.signals import hear_signals

pytestmark = pytest.mark.cluster

HERONPY = Path(sys.executable).parent / "heronpy"


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """Every verb is a command here."""
    engine.here = frozenset()
    return engine


#: a spout that prints, logs and closes
HELLO = """
import time
from heronpy import Spout, Topology

class Greet(Spout):
    outputs = ["word"]
    def initialize(self, config, context):
        print("hello")
        self.log("it is cold", "warn")
    def next_tuple(self):
        time.sleep(0.01)
    def close(self):
        print("goodbye")

class Hello(Topology):
    greet = Greet.spec()
"""

TOPOLOGY = """
import sys
import time
from heronpy import Bolt, Grouping, Spout, Topology

class Words(Spout):
    outputs = ["word"]
    def initialize(self, config, context):
        print("about to begin")
        {beginning}
    def next_tuple(self):
        time.sleep(0.01)

class Count(Bolt):
    def process(self, tup): ...

class Slow(Topology):
    words = Words.spec()
    count = Count.spec(inputs={{words: Grouping.fields("word")}})
"""


@pytest.fixture
def beginning_with(tmp_path: Path) -> Callable[[str], str]:
    """A topology file whose spout begins with this statement."""

    def write(statement: str) -> str:
        path = tmp_path / "slow.py"
        path.write_text(TOPOLOGY.format(beginning=statement))
        return str(path)

    return write


def begun(engine: Engine, *args: str, until: str) -> subprocess.Popen[str]:
    """A verb in the background, as soon as its standard error has a line with `until`."""
    command = [str(HERONPY), *args]
    process = subprocess.Popen(
        command,
        env=engine.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_signals,
    )
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if until in line:
            return process
    process.wait()
    pytest.fail(f"no {until!r} in {seen}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_foreground_run_takes_its_topology_with_it(engine: Engine, number: signal.Signals) -> None:
    with begun(engine, "run", str(TOPOLOGIES / "trickle.py"), "fore", until="fore runs") as running:
        assert engine.status("fore")["state"] == "RUNNING"
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 0
    assert said.splitlines()[-1] == "fore is stopped, nothing is left"
    assert engine.leftovers() == []


def test_closing_the_terminal_stops_a_foreground_run(engine: Engine) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        hear_signals()
        topology = (str(TOPOLOGIES / "trickle.py"), "Trickle")
        os.execve(HERONPY, ["heronpy", "run", *topology], engine.environment)
    shown = b""
    while b"Ctrl-C stops the topology" not in shown:
        shown += os.read(terminal, 4096)
    os.close(terminal)
    os.waitpid(pid, 0)
    assert engine.leftovers() == []


def test_the_demo_counts_words_is_scaled_as_it_says_and_leaves_nothing(engine: Engine) -> None:
    with begun(engine, "demo", until="demo runs") as demo:
        assert demo.stdout is not None
        counted = next(line for line in demo.stdout if line.startswith("count["))
        engine.ok("update", "demo", "count=4")
        moved = next(line for line in demo.stdout if line.startswith(("count[2]", "count[3]")))
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate(timeout=60)
    assert demo.returncode == 0
    for line in (counted, moved):
        assert re.fullmatch(r"count\[\d\] \| (\w+ [\d,]+ *)+\n", line)
    assert "\ncomponent " in said
    assert said.splitlines()[-2:] == [
        "demo is stopped, nothing is left",
        f"next: docs/tutorial.md, or {os.path.relpath(HERONPY)} run with a topology file of your own",
    ]
    assert engine.leftovers() == []


def test_a_foreground_run_shows_what_components_print_to_the_last_line(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "hello.py").write_text(HELLO)
    done = engine.run("run", str(tmp_path / "hello.py"), "--for", "3s")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "greet[0] | hello"
    assert lines[-1] == "greet[0] | goodbye"
    assert "greet[0] | WARNING it is cold" in lines
    assert "Hello  RUNNING" in done.stderr
    assert engine.leftovers() == []


@pytest.mark.parametrize(
    ("statement", "cause"),
    [
        ("raise ValueError('no water')", "ValueError: no water (slow.py:10 in initialize)"),
        ("sys.exit(3)", "called sys.exit(3) (slow.py:10 in initialize)"),
    ],
)
def test_a_start_that_fails_shows_cause_and_log_and_keeps_only_the_logs(
    engine: Engine, beginning_with: Callable[[str], str], statement: str, cause: str
) -> None:
    done = engine.run("submit", beginning_with(statement))
    said = done.stderr.splitlines()
    logs = engine.home / "topologies" / "Slow" / "logs"
    assert done.returncode == 1
    assert said[-1] == f"error: topology 'Slow' did not start: words[0] failed: {cause}"
    assert f"last lines of {logs}/words[0].log:" in said
    assert "  about to begin" in said
    assert f"all logs are kept in {logs}" in said
    assert engine.processes() == []
    assert engine.ok("list", "-o", "json") == "[]\n"
    assert "about to begin" in engine.ok("logs", "Slow", "words[0]")
    engine.ok("kill", "Slow")
    assert engine.leftovers() == []


def test_a_start_that_takes_too_long_names_who_is_late(
    engine: Engine, beginning_with: Callable[[str], str]
) -> None:
    said = engine.fails(
        "submit", beginning_with("time.sleep(600)"), "--timeout", "10s", "--set", "kill.timeout=1s", code=3
    )
    assert said.splitlines()[-1].startswith(
        "error: topology 'Slow' did not run within 10s: waiting for words[0] in container 1"
    )
    assert "heronpy kill Slow" in said
    engine.ok("kill", "Slow")
    assert engine.leftovers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_submit_that_is_interrupted_takes_the_topology_back(
    engine: Engine, beginning_with: Callable[[str], str], number: signal.Signals
) -> None:
    file = beginning_with("time.sleep(600)")
    with begun(
        engine, "submit", file, "--set", "kill.timeout=1s", until="waiting for words[0]"
    ) as submitting:
        submitting.send_signal(number)
        submitting.communicate(timeout=60)
    assert submitting.returncode == 130
    assert engine.leftovers() == []


def test_bench_says_what_the_machine_can_do_and_leaves_nothing(engine: Engine) -> None:
    options = ("--unit", "batches", "--guarantee", "effectively_once", "--keys", "1000", "--zipf")
    measured = json.loads(engine.ok("bench", *options, "--tasks", "2", "--for", "1s", "-o", "json"))
    assert measured["words_per_second"] > 0
    assert measured["cpu_microseconds_per_word"] > 0
    assert measured["checked"]
    said = ("unit", "guarantee", "keys", "distribution", "tasks", "fuse", "link")
    assert [measured[key] for key in said] == [
        "batches",
        "effectively_once",
        1000,
        "zipf",
        2,
        "none",
        "unix",
    ]
    query = ("nexmark", "Q3", "--events", "10000", "--generators", "2", "--runner", "engine")
    measured = json.loads(engine.ok("bench", *query, "-o", "json"))
    assert (measured["results"], measured["generation"]) == (17, "apart")
    assert measured["seconds"] > 0
    assert measured["cpu_seconds"] > 0
    assert engine.leftovers() == []


def test_bench_counts_every_word_of_several_spouts_at_the_bolt_that_owns_it(engine: Engine) -> None:
    for unit, fuse in (("rows", "none"), ("columns", "container")):
        options = ("--unit", unit, "--fuse", fuse, "--tasks", "2", "--keys", "1000")
        measured = json.loads(engine.ok("bench", "words", *options, "--for", "200ms", "-o", "json"))
        assert [measured[key] for key in ("unit", "fuse", "tasks", "checked")] == [unit, fuse, 2, True]
        assert measured["tally"]["distinct"] == 1000
    assert engine.leftovers() == []
