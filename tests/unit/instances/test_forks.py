"""A process that user code forks is an ordinary process."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import multiprocessing, os, signal, time
from heronpy.instances.process.forks import guard_forks
from heronpy.kernel.transport import Reactor

def square(number):
    return number * number

reactor = Reactor()
reactor.stop_on_signals()
seen = []
guard_forks(in_child=lambda: seen.append(os.getpid()))

context = multiprocessing.get_context("fork")
codes = []
for _ in range(20):
    process = context.Process(target=time.sleep, args=(60,))
    process.start()
    process.terminate()
    process.join()
    codes.append(process.exitcode)
assert codes == [-signal.SIGTERM] * 20, codes
assert seen == [], "the parent has not forked off"
with context.Pool(2) as pool:
    assert pool.map(square, [1, 2, 3]) == [1, 4, 9]

assert not reactor.stopping
assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
os.kill(os.getpid(), signal.SIGTERM)
assert reactor.stopping
"""


def test_a_forked_process_can_be_terminated_and_its_parent_still_hears_its_own_signals() -> None:
    """Without care it has the instance's handlers, which set a flag: Pool.terminate() waits for ever."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
