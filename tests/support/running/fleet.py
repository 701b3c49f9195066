"""The processes of a running topology by their roles, and proof that no task ever runs twice."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import psutil
from support.running.engine import Engine, wait_until

EXECUTOR = "heronpy.container.executor.main"
SCHEDULER = "heronpy.container.scheduler.scheduler_host"


def executors(engine: Engine) -> dict[int, psutil.Process]:
    """By container."""
    found = [p for p in engine.processes() if EXECUTOR in words(p)]
    return {int(words(p)[-1]): p for p in found}


def scheduler(engine: Engine) -> psutil.Process | None:
    return next((p for p in engine.processes() if SCHEDULER in words(p)), None)


def named(engine: Engine, role: str) -> list[psutil.Process]:
    """Those whose name begins so: relay, relay[0], stream-manager, …"""
    return [p for p in engine.processes() if name_of(p).startswith(role)]


def members(process: psutil.Process) -> list[psutil.Process]:
    """All of the container whose executor this is."""
    return [found for found in psutil.process_iter() if _session(found.pid) == process.pid]


def home_of(engine: Engine, role: str) -> int:
    """The container that a role is in."""
    (found,) = named(engine, role)
    return next(container for container, p in executors(engine).items() if p.pid == _session(found.pid))


def victim(engine: Engine, role: str) -> psutil.Process:
    """One that plays the role; beside the spout only if it is the spout, so that no fault is two."""
    if role == "scheduler":
        found = scheduler(engine)
        assert found is not None
        return found
    if role == "numbers":
        return named(engine, role)[0]
    spout = home_of(engine, "numbers")
    if role == "executor":
        return next(p for container, p in executors(engine).items() if container not in (0, spout))
    return next(p for p in named(engine, role) if _session(p.pid) != executors(engine)[spout].pid)


def stop(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)


def stop_without_the_lock(engine: Engine, processes: Sequence[psutil.Process]) -> None:
    """Stop them while none of them can hold the lock of the state tree, because this process does.

    One that was stopped with the lock keeps it: then no other process can show that it lives, and containers
    that the test does not mean are replaced as well.
    """
    with (engine.home / "state" / "@lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stop(processes)
        wait_until(lambda: all(map(_stands, processes)), 10, "all stand still")


def _stands(process: psutil.Process) -> bool:
    try:
        return bool(process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE))
    except psutil.NoSuchProcess:
        return True


def resume(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        os.kill(process.pid, signal.SIGCONT)


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def no_twins(engine: Engine) -> Iterator[None]:
    """Fails when two processes of one task, or of the same tasks, are seen at once meanwhile."""
    over, twins = threading.Event(), set[str]()

    def look() -> None:
        while not over.wait(0.05):
            names = map(name_of, engine.processes())
            running = Counter(name for name in names if "[" in name or name.startswith("tasks-"))
            twins.update(name for name, count in running.items() if count > 1)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert twins == set()


def words(process: psutil.Process) -> list[str]:
    """Its command line; none of one that ends just now."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0
