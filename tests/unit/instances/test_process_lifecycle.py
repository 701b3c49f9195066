"""An instance process and its tasks, in a process of its own: it changes how that forks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys
from pathlib import Path
from heronpy.instances.process.control import Control, ProcessId
from heronpy.instances.process.lifecycle import ProcessOfOne
from heronpy.instances.process.socket_link import SocketLink
from heronpy.kernel.config import load_config
from heronpy.kernel.launch import Child, TopologyLaunch
from heronpy.kernel.transport import Reactor, Transport

folder, transport, reactor = Path(sys.argv[1]), Transport(), Reactor()
plain = load_config(os.devnull, environ={}).to_plain()
launch = TopologyLaunch("words", "x", plain, str(folder), str(folder))
child = Child("instance", "words[0]", 1, 1, -1, slot=1, tasks=(1, 2))
control = Control(transport, folder, ProcessId(1, 1), child.tasks, -1, 30.0, 1.0, reactor.wake)
link = SocketLink(reactor, transport.dealer_local(str(folder / "data"), b"me"))
try:
    ProcessOfOne(launch, child, link, control).run()
finally:
    transport.close()
    reactor.close()
"""


def test_a_process_with_two_tasks_is_refused_in_a_line_that_says_what_to_change(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.splitlines()[-1].endswith(
        "slot 1 has 2 tasks; a process runs one"
        " (try: --set topology.fuse=container, or packing without InstancePlan.slot)"
    )
