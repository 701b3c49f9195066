"""localfs where the user's inotify instances run out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.faults.user_limits import inotify_instances

from heronpy.plugins.state.localfs.inotify import RESERVE

#: four clients of one tree, a watch each: how many have an inotify instance, and whether all are told
CLIENTS = """
import os, sys, threading
from heronpy.kernel.config import load_config
from heronpy.kernel.plugin.opening import open_state

config = load_config(os.devnull, environ={}, flags={"home": sys.argv[1]})
clients = [open_state(config) for _ in range(4)]
told = [threading.Event() for _ in clients]
for client, event in zip(clients, told):
    client.watch("/topology/node", event.set)
paths = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
names = [os.readlink(path) for path in paths if os.path.islink(path)]
clients[0].create("/topology/node", b"")
print(sum("inotify" in name for name in names), all(event.wait(10) for event in told))
for client in clients:
    client.close()
"""


def test_the_last_instances_are_left_to_other_programs_and_everybody_is_told(tmp_path: Path) -> None:
    with inotify_instances(RESERVE) as front:
        command = [*front, sys.executable, "-c", CLIENTS, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("0 True\n", "")
