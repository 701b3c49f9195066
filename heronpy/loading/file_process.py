"""A process of its own for the user's file: started, waited for, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from heronpy.kernel.errors import TopologyError, UsageError, did_you_mean
from heronpy.kernel.plans import Source
from heronpy.loading.exchange import (
    ExplainRequest,
    LoadRequest,
    Outcome,
    Request,
    RunRequest,
    result_file,
    wanted_file,
)

#: children write here what the file prints: standard output belongs to the command
_STDERR = 2


class LoadError(TopologyError):
    """A file that gives nothing to run. The message is one line; `traceback` has the user's frames."""

    def __init__(self, message: str, *, hint: str = "", traceback: str = "") -> None:
        super().__init__(message, hint=hint)
        self.traceback = traceback


def source_of(file: str | os.PathLike[str], argv: Sequence[str] = ()) -> Source:
    """Where another process will find this file's code; checks that there is a file."""
    given = os.fspath(file)
    path = Path(os.path.realpath(given))
    if path.is_dir():
        msg = f"{given!r} is a folder"
        raise LoadError(msg, hint="name the file in it that defines the pipeline or topology")
    if not path.is_file():
        folder = path.parent
        others = [other.name for other in folder.glob("*.py")] if folder.is_dir() else []
        msg = f"no file {given!r}{did_you_mean(path.name, others)}"
        raise LoadError(msg)
    search = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(path.parent), *(os.path.abspath(entry) for entry in search if entry)]
    return Source(file=str(path), argv=(given, *argv), paths=tuple(dict.fromkeys(paths)))


def load(wanted: LoadRequest | ExplainRequest) -> Outcome:
    """The outcome of a request that ends by itself. What the file prints goes to standard error."""
    source = wanted.source
    with _asked(wanted) as (folder, command):
        status = _status_of(command)
        if outcome := _result(folder):
            return checked(outcome, source)
    name = os.path.basename(source.file)
    msg = f"cannot load {name}: its process {_ending(status)} before the file was loaded"
    raise LoadError(msg)


def run(wanted: RunRequest, *, seconds: float | None, grace: float) -> Outcome:
    """The outcome of a request that may go on for ever. The process has standard output for its own.

    It is asked to stop after so many seconds, or by KeyboardInterrupt, which is raised again if there was
    more to do. It has `grace` seconds to follow; a second KeyboardInterrupt ends it at once.
    """
    source = wanted.load.source
    with _asked(wanted) as (folder, command), _started(command, stdout=None) as child:
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            _stop(child, grace)
        except KeyboardInterrupt:
            _stop(child, grace)
            outcome = _result(folder)
            if outcome is None or not outcome.ran or outcome.unfinished:
                raise
        if outcome := _result(folder):
            return checked(outcome, source)
    name = os.path.basename(source.file)
    msg = f"the process of {name} {_ending(child.returncode)} before its pipelines had ended"
    raise LoadError(msg)


def checked(outcome: Outcome, source: Source) -> Outcome:
    """The outcome itself; UserErrors for a file that cannot be loaded or whose pipelines have failed."""
    if outcome.usage:
        name, given = os.path.basename(source.file), " ".join(source.argv[1:]) or "(none)"
        msg = f"{name} refused its arguments {given}; its own message is above"
        raise UsageError(msg)
    if outcome.error:
        raise LoadError(outcome.error, hint=outcome.hint, traceback=outcome.traceback)
    return outcome


@contextlib.contextmanager
def _asked(wanted: Request) -> Iterator[tuple[str, list[str]]]:
    with tempfile.TemporaryDirectory(prefix="heronpy-load-") as folder:
        wanted_file(folder).write_bytes(msgspec.json.encode(wanted))
        yield folder, [sys.executable, "-u", "-P", "-m", "heronpy.loading.answer", folder]


def _result(folder: str) -> Outcome | None:
    """What the process has left; None if it ended before it could."""
    file = result_file(folder)
    return msgspec.json.decode(file.read_bytes(), type=Outcome) if file.exists() else None


def _ending(status: int) -> str:
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def _status_of(command: list[str]) -> int:
    """Run to the end."""
    with _started(command, stdout=_STDERR) as child:
        return child.wait()


@contextlib.contextmanager
def _started(command: list[str], *, stdout: int | None) -> Iterator[subprocess.Popen[bytes]]:
    """SIGINT stays blocked in the child until the user's file begins: only this process reports it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        child = subprocess.Popen(command, stdout=stdout)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with child:
        try:
            yield child
        except BaseException:
            child.kill()
            raise


def _stop(child: subprocess.Popen[bytes], grace: float) -> None:
    child.terminate()
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:  # the user's code may hold on to anything
        child.kill()
        child.wait()
