"""Several machines on one: network namespaces that are joined by a bridge, and routes between them to cut."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
from types import TracebackType
from typing import Self

_numbers = itertools.count(1)


class Network:
    """Machines with an address each on one network, and a hub between them that has the first address.

    Nothing here touches the network of whoever runs the tests. Needs root and iproute2.
    """

    subnet = "10.77.0.0/24"

    def __init__(self, machines: int) -> None:
        _require_tools()
        name = f"heronpy-{os.getpid()}-{next(_numbers)}"
        self.hub = f"{name}-hub"
        self.machines = [f"{name}-{number}" for number in range(1, machines + 1)]
        self._addresses = {each: f"10.77.0.{n}" for n, each in enumerate([self.hub, *self.machines], 1)}
        self._cuts: list[tuple[str, str]] = []
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def inside(self, machine: str) -> tuple[str, ...]:
        """What to put in front of a command so that it runs there."""
        return ("ip", "netns", "exec", machine)

    def cut(self, sender: str, receiver: str) -> None:
        """What `sender` has for `receiver` vanishes from now on; the other way is as it was."""
        _run("ip", "-n", sender, "route", "add", "blackhole", f"{self._addresses[receiver]}/32")
        self._cuts.append((sender, receiver))

    def isolate(self, machine: str) -> None:
        """Nobody hears from the machine, and it hears from nobody."""
        for other in self._addresses.keys() - {machine}:
            self.cut(machine, other)
            self.cut(other, machine)

    def heal(self) -> None:
        """Take back every cut."""
        while self._cuts:
            sender, receiver = self._cuts.pop()
            _run("ip", "-n", sender, "route", "del", "blackhole", f"{self._addresses[receiver]}/32")

    def reset(self, machine: str) -> int:
        """Break every TCP connection between the machine and another; how many there were."""
        done = _run(*self.inside(machine), "ss", "--kill", "--no-header", "-tn", "state", "established")
        return len(done.splitlines())

    def close(self) -> None:
        """Remove what was made, as far as it was."""
        for namespace in self._addresses:
            with contextlib.suppress(OSError):
                subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _make(self) -> None:
        for namespace in self._addresses:
            _run("ip", "netns", "add", namespace)
            _run("ip", "-n", namespace, "link", "set", "dev", "lo", "up")
        _run("ip", "-n", self.hub, "link", "add", "name", "hub0", "type", "bridge")
        self._raise(self.hub, "hub0")
        for number, machine in enumerate(self.machines, 1):
            cable = ("type", "veth", "peer", "name", "eth0", "netns", machine)
            _run("ip", "-n", self.hub, "link", "add", "name", f"port{number}", *cable)
            _run("ip", "-n", self.hub, "link", "set", "dev", f"port{number}", "master", "hub0", "up")
            self._raise(machine, "eth0")

    def _raise(self, namespace: str, device: str) -> None:
        _run("ip", "-n", namespace, "address", "add", f"{self._addresses[namespace]}/24", "dev", device)
        _run("ip", "-n", namespace, "link", "set", "dev", device, "up")


def _require_tools() -> None:
    if os.geteuid() != 0:
        msg = "network namespaces need root: run these tests as root, in a container or a virtual machine"
        raise RuntimeError(msg)
    for tool in ("ip", "ss"):
        if shutil.which(tool) is None:
            msg = f"no command {tool!r}: install iproute2"
            raise RuntimeError(msg)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        msg = f"{' '.join(command)}: {done.stderr.strip()}"
        raise RuntimeError(msg)
    return done.stdout
