"""The CPU time of a process and all that it has started."""

from __future__ import annotations

import subprocess
import sys

from heronpy.kernel.machine.cpu import TreeCpu, cpu_seconds_of

#: a child of the process that is started; it works, says so and stays until it may end
WORKS = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"
MARK = "a mark of its own"


def test_children_of_children_count_while_they_live_and_when_they_have_ended() -> None:
    cpu = TreeCpu()
    starts = f"import subprocess\nsubprocess.run({[sys.executable, '-c', WORKS, MARK]})"
    command = [sys.executable, "-c", starts]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        living = cpu.spent()
        child.communicate(b"\n")
    assert 0.29 < living <= cpu.spent()


def test_processes_are_found_by_their_command_line() -> None:
    command = [sys.executable, "-c", WORKS, MARK]
    assert cpu_seconds_of(lambda line: MARK.encode() in line) == 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        assert cpu_seconds_of(lambda line: MARK.encode() in line) >= 0.29
        child.communicate(b"\n")
