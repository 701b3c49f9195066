"""Runs a topology file in a process of its own and brings back its plans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from heronpy.kernel.errors import TopologyError, UsageError, did_you_mean
from heronpy.kernel.plans import LogicalPlan, Source
from heronpy.kernel.plans.validate import validate
from heronpy.loading.exchange import LoadRequest, Outcome, result_file, wanted_file

#: children write here what the file prints: standard output belongs to the command
_STDERR = 2


class LoadError(TopologyError):
    """A file that gives no topology. The message is one line; `traceback` has the user's frames."""

    def __init__(self, message: str, *, hint: str = "", traceback: str = "") -> None:
        super().__init__(message, hint=hint)
        self.traceback = traceback


def load_topologies(
    file: str | os.PathLike[str], argv: Sequence[str] = (), overrides: Mapping[str, Any] = {}
) -> list[LogicalPlan]:
    """The validated plans of all topologies in a file that is run as a script with these arguments.

    `overrides`, by `topology.KEY` and `component.NAME.KEY`, go on top of the config in the file. None if
    the file ended by itself before it submitted one, as after `--help`.
    """
    source = source_of(file, argv)
    outcome = _run(LoadRequest(source, dict(overrides)))
    name = os.path.basename(source.file)
    if outcome.usage:
        msg = f"{name} refused its arguments {' '.join(argv) or '(none)'}; its own message is above"
        raise UsageError(msg)
    if outcome.error:
        raise LoadError(outcome.error, hint=outcome.hint, traceback=outcome.traceback)
    _refuse_twins(name, outcome.plans)
    for plan in outcome.plans:
        validate(plan)
    return outcome.plans


def source_of(file: str | os.PathLike[str], argv: Sequence[str] = ()) -> Source:
    """Where an instance will find this file's code; checks that there is a file."""
    given = os.fspath(file)
    path = Path(os.path.realpath(given))
    if path.is_dir():
        msg = f"{given!r} is a folder"
        raise LoadError(msg, hint="name the file in it that defines the topology")
    if not path.is_file():
        folder = path.parent
        others = [other.name for other in folder.glob("*.py")] if folder.is_dir() else []
        msg = f"no file {given!r}{did_you_mean(path.name, others)}"
        raise LoadError(msg)
    search = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(path.parent), *(os.path.abspath(entry) for entry in search if entry)]
    return Source(file=str(path), argv=(given, *argv), paths=tuple(dict.fromkeys(paths)))


def _run(wanted: LoadRequest) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="heronpy-load-") as folder:
        wanted_file(folder).write_bytes(msgspec.json.encode(wanted))
        command = [sys.executable, "-u", "-P", "-m", "heronpy.loading.run", folder]
        status = _status_of(command)
        if result_file(folder).exists():
            return msgspec.json.decode(result_file(folder).read_bytes(), type=Outcome)
    name = os.path.basename(wanted.source.file)
    ending = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    return Outcome(error=f"cannot load {name}: its process {ending} before the file was loaded")


def _status_of(command: list[str]) -> int:
    """Run to the end. SIGINT stays blocked in the child until the user's file begins: only we report it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        child = subprocess.Popen(command, stdout=_STDERR)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with child:
        try:
            return child.wait()
        except BaseException:
            child.kill()
            raise


def _refuse_twins(file: str, plans: list[LogicalPlan]) -> None:
    names = [plan.name for plan in plans]
    for name in names:
        if names.count(name) > 1:
            msg = f"{file} has two topologies called {name!r}"
            raise LoadError(msg, hint="give each a name of its own")
