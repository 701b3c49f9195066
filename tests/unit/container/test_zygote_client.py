"""The zygote and its client, without an executor."""

from __future__ import annotations

import ctypes
import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heronpy.container.folders import create_launch
from heronpy.container.processes.child import CRASHED, Start
from heronpy.container.processes.roles import ROLES
from heronpy.container.processes.zygote import Forked
from heronpy.container.processes.zygote_client import ZygoteClient, spawn
from heronpy.kernel.config import Config
from heronpy.kernel.errors import PeerLost
from heronpy.kernel.launch import Child, Role

ZYGOTE_ROLES = '''
import logging, os, random, select, sys, threading
from pathlib import Path


def run(launch, child):
    """Says what it finds, then ends in the way its name asks for."""
    descriptors = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    # the last one is that of the listing itself
    print("descriptors", *(each for each in descriptors if os.path.exists(f"/proc/self/fd/{each}")))
    print("lifeline", child.lifeline, "name", Path("/proc/self/comm").read_text().strip())
    print("threads", threading.active_count(), "random", random.random(), "stdin", repr(sys.stdin.read()))
    print("caf\\u00e9 \\ud800")
    logging.getLogger("role").info("logged")
    if child.name == "leave":
        sys.exit("because")
    if child.name == "crash":
        raise ValueError("role failed")
    if child.name == "wait":
        select.select([child.lifeline], [], [])
    return child.slot
'''
TOYS: dict[Role, str] = dict.fromkeys(ROLES, "zygote_roles")


class Family:
    """A zygote client whose children are waited for here."""

    def __init__(self, config: Config, folder: Path) -> None:
        self.folder = folder
        (folder / "zygote_roles.py").write_text(ZYGOTE_ROLES)
        program = (
            f"import sys; sys.path.append({str(folder)!r});"
            "from heronpy.container.processes.{} import main; main(sys.argv[1:], {!r})"
        )
        self.launch_file = str(create_launch(config, "zygotes"))
        self.zygote_client = ZygoteClient(
            self.launch_file, 1, [sys.executable, "-P", "-c", program.format("zygote", TOYS)]
        )
        self.child_command = [sys.executable, "-P", "-c", program.format("child", TOYS)]
        self.count = 0

    def start_of(self, name: str, task: int = 0) -> Start:
        self.count += 1
        return Start(
            Child("instance", name, 1, self.count, -1, task, (task,)), str(self.folder / f"{name}.log")
        )

    def fork(self, name: str, task: int = 0) -> int:
        """Ask for a child; returns our end of its lifeline."""
        ours, theirs = socket.socketpair()
        self.zygote_client.fork(self.start_of(name, task), theirs.detach())
        return ours.detach()

    def replies(self, number: int) -> list[Forked]:
        found: list[Forked] = []
        while len(found) < number:
            assert select.select([self.zygote_client], [], [], 20)[0]
            found += self.zygote_client.replies()
        return found

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


@pytest.fixture
def family(config: Config, tmp_path: Path) -> Iterator[Family]:
    # grandchildren of the zygote come to whoever is a subreaper: here the test's own process
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    family = Family(config, tmp_path)
    yield family
    zygote = family.zygote_client.pid
    family.zygote_client.close()
    if zygote:
        os.waitpid(zygote, 0)
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_twenty_children_are_forked_quickly_and_each_is_ours(family: Family) -> None:
    first = family.fork("first")
    exit_code(family.replies(1)[0].pid)
    before = time.monotonic()
    lifelines = [first, *(family.fork(f"child-{task}", task) for task in range(20))]

    replies = family.replies(20)

    assert time.monotonic() - before < 10
    assert sorted(reply.incarnation for reply in replies) == list(range(2, 22))
    assert sorted(exit_code(reply.pid) for reply in replies) == list(range(20))
    for lifeline in lifelines:
        os.close(lifeline)


def test_more_requests_than_the_zygote_is_given_at_once(family: Family) -> None:
    lifelines = [family.fork("many") for _ in range(40)]
    replies = family.replies(40)
    assert [reply.incarnation for reply in replies] == list(range(1, 41))
    assert [exit_code(reply.pid) for reply in replies] == [0] * 40
    for lifeline in lifelines:
        os.close(lifeline)


def test_a_forked_child_has_clean_surroundings(family: Family) -> None:
    os.close(family.fork("clean"))
    assert exit_code(family.replies(1)[0].pid) == 0

    lines = family.log("clean").splitlines()
    lifeline = lines[1].split()[1]
    assert lines[0] == f"descriptors 0 1 2 {lifeline}"
    assert lines[1] == f"lifeline {lifeline} name clean"
    assert lines[2].startswith("threads 1 random ")
    assert lines[2].endswith("stdin ''")
    assert lines[3] == "café \\ud800"
    assert lines[4].endswith(" INFO [role] logged")


def test_children_draw_different_random_numbers(family: Family) -> None:
    for name in ("one", "two"):
        os.close(family.fork(name))
    assert [exit_code(reply.pid) for reply in family.replies(2)] == [0, 0]
    assert family.log("one").splitlines()[2] != family.log("two").splitlines()[2]


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [("leave", 1, "because"), ("crash", CRASHED, "ValueError: role failed")],
)
def test_how_a_role_ends_is_the_exit_code_and_in_the_log(
    family: Family, name: str, code: int, says: str
) -> None:
    os.close(family.fork(name))
    assert exit_code(family.replies(1)[0].pid) == code
    assert says in family.log(name)


def test_only_we_hold_our_end_of_a_lifeline(family: Family) -> None:
    lifelines = [family.fork("wait") for _ in range(3)]
    replies = family.replies(3)
    for lifeline, reply in zip(lifelines, replies, strict=True):
        os.close(lifeline)
        assert exit_code(reply.pid) == 0


def test_a_zygote_that_dies_is_told_and_another_takes_its_place(family: Family) -> None:
    os.close(family.fork("before"))
    exit_code(family.replies(1)[0].pid)
    zygote = family.zygote_client.pid
    os.kill(zygote, 9)
    os.waitpid(zygote, 0)
    with pytest.raises(PeerLost, match="is gone"):
        family.zygote_client.replies()
    assert family.zygote_client.close() == []

    os.close(family.fork("after"))
    assert exit_code(family.replies(1)[0].pid) == 0


def test_what_a_dead_zygote_did_not_answer_is_given_back(family: Family) -> None:
    family.zygote_client.open()
    os.kill(family.zygote_client.pid, 19)
    lifelines = [family.fork("lost") for _ in range(40)]
    zygote = family.zygote_client.pid
    os.kill(zygote, 9)
    os.waitpid(zygote, 0)
    assert family.zygote_client.waiting()
    assert sorted(family.zygote_client.close()) == list(range(1, 41))
    assert not family.zygote_client.waiting()
    for lifeline in lifelines:
        os.close(lifeline)


def test_a_spawned_child_runs_the_same_code(family: Family) -> None:
    ours, theirs = socket.socketpair()
    pid = spawn(family.launch_file, family.start_of("wait", 5), theirs.detach(), family.child_command)
    ours.close()
    assert exit_code(pid) == 5
    assert " INFO [role] logged" in family.log("wait")
