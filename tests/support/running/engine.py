"""A real engine for tests: the `heronpy` command with a home of its own, and proof that nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil
from click.testing import CliRunner

from heronpy.cli.main import cli
from heronpy.cli.reading.topologies import open_state
from heronpy.container.scheduler.scheduler_handle import links
from heronpy.kernel.config import load_config
from heronpy.kernel.master.client import topology_status

TOPOLOGIES = Path(__file__).parent.parent.parent / "integration" / "topologies"

#: Verbs that most tests only use, and that are run in the test's own process: a command costs a quarter of a
#: second of CPU. test_cli_in_processes.py and test_pause_and_resume.py have them as commands.
HERE = frozenset({"submit", "kill", "activate", "deactivate", "update", "restart", "checkpoints"})
#: where this process looks for plugins, however the variable is changed later
_SEARCHED = os.environ.get("PYTHONPATH")


class Engine:
    """Runs verbs as a user would, each in a process of its own but for those in `here`."""

    #: seconds that a verb may take if nothing else is said
    patience = 60.0

    def __init__(self, home: Path, front: Sequence[str] = ()) -> None:
        self.home = home
        #: what runs the command, when it shall not run just here
        self._front = front
        self.here = HERE
        #: for processes of topologies, on top of the rest; a verb does the same with and without
        self.for_topologies: dict[str, str] = {}
        self.environment = {**os.environ, "HERONPY_HOME": str(home), "NO_COLOR": "1"}

    def run(
        self, *args: str, timeout: float | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a verb; the result has its exit code and output."""
        return subprocess.run(
            [*self._front, str(Path(sys.executable).parent / "heronpy"), *args],
            env={**self.environment, **self.for_topologies, **environment},
            capture_output=True,
            text=True,
            timeout=timeout or self.patience,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Begin a verb, and do something else meanwhile."""
        return subprocess.Popen(
            [*self._front, str(Path(sys.executable).parent / "heronpy"), *args],
            env={**self.environment, **self.for_topologies},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def ok(self, *args: str, timeout: float | None = None, **environment: str) -> str:
        """Run a verb that must succeed; its standard output.

        In the test's own process, only the limit of the test ends it.
        """
        if args[0] in self.here and not environment and self._is_as_here():
            return self._from_here(args)
        done = self.run(*args, timeout=timeout, **environment)
        assert done.returncode == 0, (
            f"heronpy {' '.join(args)}: exit {done.returncode}\n{done.stderr}{done.stdout}{self.log_tails()}"
        )
        return done.stdout

    def _is_as_here(self) -> bool:
        """Whether a command would find the same as this process: machine, libraries, plugins."""

        def surroundings(environment: Mapping[str, str]) -> dict[str, str]:
            ours = ("HERONPY_", "NO_COLOR", "PYTEST_")
            return {name: value for name, value in environment.items() if not name.startswith(ours)}

        same = surroundings(self.environment) == surroundings(os.environ)
        main = threading.current_thread() is threading.main_thread()
        return same and main and not self._front and os.environ.get("PYTHONPATH") == _SEARCHED

    def _from_here(self, args: Sequence[str]) -> str:
        environment = {**self.environment, **self.for_topologies}
        done = CliRunner().invoke(cli, args, prog_name="heronpy", env=environment)
        assert done.exit_code == 0, (
            f"heronpy {' '.join(args)}: {done.exception!r}\n{done.stderr}{done.stdout}{self.log_tails()}"
        )
        return done.stdout

    def fails(self, *args: str, code: int = 1, timeout: float | None = None, **environment: str) -> str:
        """Run a verb that must fail with this code and without a traceback; its standard error."""
        done = self.run(*args, timeout=timeout, **environment)
        assert done.returncode == code, (
            f"heronpy {' '.join(args)}: exit {done.returncode}\n{done.stderr}{done.stdout}"
        )
        # A log's tail is indented; a traceback of our own is not.
        assert "\nTraceback" not in f"\n{done.stderr}", done.stderr
        return done.stderr

    def status(self, name: str) -> dict[str, Any]:
        """The master's own answer, however busy the machine is, and though it may be a new one by then.

        Asked from this process, because a command costs a third of a second of CPU and tests ask many times.
        """
        deadline = time.monotonic() + 10
        while True:
            status = self._status_from_here(name) or json.loads(self.ok("status", name, "-o", "json"))
            if status["state"] != "UNREACHABLE" or time.monotonic() > deadline:
                return status

    def _status_from_here(self, name: str) -> dict[str, Any]:
        """What `status -o json` prints; nothing where only the command can answer, or can help."""
        if self._front:
            return {}
        with open_state(load_config(environ=self.environment)) as state:
            if name not in state.children("/"):
                return {}
            status = topology_status(state, name, timeout=2.0)
            status = msgspec.structs.replace(status, links=links(state, name))
        # the command also starts a topology again whose scheduler and master are gone
        found: dict[str, Any] = json.loads(status.to_json())
        return found if status.state != "UNREACHABLE" else {}

    def processes(self) -> list[psutil.Process]:
        """Every process that was started for this home, wherever it went."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HERONPY_HOME") == str(self.home) or str(self.home) in " ".join(
                    process.cmdline()
                ):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
        return [process for process in found if process.pid != os.getpid()]

    def leftovers(self) -> list[str]:
        """What a home full of killed topologies still holds: nothing, or names of it."""
        left = [f"process {process.pid}: {_command_line(process)}" for process in self.processes()]
        left += [str(path) for path in self.home.glob("topologies/*")]
        left += [str(path) for path in self.home.glob("state/*") if not path.name.startswith("@")]
        left += [str(path) for path in self.home.glob("state/@sessions/*")]
        return left

    def log_tails(self) -> str:
        """The last lines of every log, for a failure that must be understood from CI's output alone."""
        return tails(self.home.glob("topologies/*/logs/*.log"))

    def close(self) -> None:
        """Kill whatever a failed test left, so that the next one starts clean."""
        if self.leftovers():
            self.run("kill", "--all", timeout=60)
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def end_all(engine: Engine) -> None:
    """As a reboot does."""
    dead = engine.processes()
    for process in dead:
        process.suspend()  # otherwise one of them starts another again while the rest is killed
    for process in dead:
        process.kill()
    wait_until(lambda: engine.processes() == [], 10, "the end of all")


def _command_line(process: psutil.Process) -> str:
    """What tells one `python` from another."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error as error:
        return str(error)


def tails(logs: Iterable[Path]) -> str:
    """The last lines of some files."""
    found = []
    for log in sorted(logs):
        lines = log.read_text(errors="replace").splitlines()[-15:]
        found.append("\n".join([f"== {log.name}", *lines]))
    return "\n".join(found)


def wait_until(
    condition: Callable[[], bool], timeout: float, what: str, detail: Callable[[], str] = str
) -> None:
    """Wait for a condition; the failure names it. A look that costs CPU is taken less often."""
    deadline = time.monotonic() + timeout
    while True:
        begun = time.monotonic()
        if condition():
            return
        now = time.monotonic()
        assert now < deadline, f"{what}: not after {timeout:g} s {detail()}"
        time.sleep(min(max(0.05, 4 * (now - begun)), 0.5))
