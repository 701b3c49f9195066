"""Message types are decoded by several threads at once, as `heronpy list` does with several topologies."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.structs import prepare_structs

sys.setswitchinterval(1e-6)
prepare_structs()
instance = b'{"task":1,"component":"a","index":0,"container":1,"kind":"spout","state":"running"}'
data = b'{"name":"Shop","state":"RUNNING","instances":[' + instance + b']}'
together = threading.Barrier(8)

def decode():
    together.wait()
    TopologyStatus.from_json(data)

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_the_first_decoding_may_be_in_many_threads_at_once() -> None:
    for _ in range(8):  # without being prepared, one in four ends with a segmentation fault
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
