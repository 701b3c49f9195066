"""What /proc tells of a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from heronpy.kernel.machine.processes import boot_id, process, processes


def test_we_find_ourselves() -> None:
    me = process(os.getpid())
    assert me is not None
    assert (me.parent, me.group, me.session) == (os.getppid(), os.getpgrp(), os.getsid(0))
    assert me.alive
    assert me.pid in {each.pid for each in processes()}


def test_a_name_with_blanks_and_brackets_does_not_confuse() -> None:
    rename = "open('/proc/self/comm', 'w').write('a) Z (b'); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", rename], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        seen = process(child.pid)
        assert seen is not None
        assert seen.alive
        assert seen.parent == os.getpid()
        child.kill()


def test_a_zombie_is_there_but_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        seen = process(child.pid)
        assert seen is not None
        assert not seen.alive
    assert process(child.pid) is None


def test_start_times_tell_two_processes_apart() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        first, again = process(child.pid), process(child.pid)
        me = process(os.getpid())
        assert first is not None
        assert me is not None
        assert first == again or (again is not None and first.started == again.started)
        assert first.started > me.started
        child.send_signal(signal.SIGKILL)


def test_the_boot_id_is_a_word() -> None:
    assert boot_id() == boot_id()
    assert len(boot_id()) == 36
