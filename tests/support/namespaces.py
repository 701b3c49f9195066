"""Several machines on one: network namespaces, and a router between them that can lose packets."""

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
    """Machines with an address each on one network, and a hub that passes packets between them.

    Nothing here touches the network of whoever runs the tests. Needs root and iproute2.
    """

    subnet = "10.77.0.0/24"

    def __init__(self, machines: int) -> None:
        require_tools()
        name = f"heronpy-{os.getpid()}-{next(_numbers)}"
        self.hub = f"{name}-hub"
        self.machines = [f"{name}-{number}" for number in range(1, machines + 1)]
        self._addresses = {each: f"10.77.0.{n}" for n, each in enumerate([self.hub, *self.machines], 1)}
        self._cuts: list[tuple[str, str]] = []
        self._isolated: list[str] = []
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def inside(self, machine: str) -> tuple[str, ...]:
        """What to put in front of a command so that it runs there."""
        return ("ip", "netns", "exec", machine)

    def cut(self, sender: str, receiver: str) -> None:
        """What one machine sends to another vanishes without a word; the other way is as it was."""
        self._hub("rule", "add", *self._rule(sender, receiver))
        self._cuts.append((sender, receiver))

    def isolate(self, machine: str) -> None:
        """Pull the cable: nobody hears from the machine, the hub included, and it hears from nobody."""
        self._hub("link", "set", "dev", self._port(machine), "down")
        self._isolated.append(machine)

    def heal(self) -> None:
        """Take back every cut."""
        while self._cuts:
            self._hub("rule", "del", *self._rule(*self._cuts.pop()))
        while self._isolated:
            self._plug_in(self._isolated.pop())

    def reset(self, machine: str) -> int:
        """Break every TCP connection between the machine and another; how many there were."""
        done = run(*self.inside(machine), "ss", "--kill", "--no-header", "-tn", "state", "established")
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
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "dev", "lo", "up")
        self._hub("address", "add", f"{self._addresses[self.hub]}/32", "dev", "lo")
        run(*self.inside(self.hub), "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for machine in self.machines:
            cable = ("type", "veth", "peer", "name", "eth0", "netns", machine)
            self._hub("link", "add", "name", self._port(machine), *cable)
            run("ip", "-n", machine, "address", "add", f"{self._addresses[machine]}/32", "dev", "eth0")
            run("ip", "-n", machine, "link", "set", "dev", "eth0", "up")
            run("ip", "-n", machine, "route", "add", self._addresses[self.hub], "dev", "eth0")
            run("ip", "-n", machine, "route", "add", self.subnet, "via", self._addresses[self.hub])
            self._plug_in(machine)

    def _plug_in(self, machine: str) -> None:
        self._hub("link", "set", "dev", self._port(machine), "up")
        self._hub("route", "replace", self._addresses[machine], "dev", self._port(machine))

    def _rule(self, sender: str, receiver: str) -> tuple[str, ...]:
        return ("from", self._addresses[sender], "to", self._addresses[receiver], "blackhole")

    def _port(self, machine: str) -> str:
        return f"port{self.machines.index(machine) + 1}"

    def _hub(self, *arguments: str) -> None:
        run("ip", "-n", self.hub, *arguments)


def require_tools() -> None:
    """Say what is missing before anything is made."""
    if os.geteuid() != 0:
        msg = "network namespaces need root: run these tests as root, in a container or a virtual machine"
        raise RuntimeError(msg)
    for tool in ("ip", "ss"):
        if shutil.which(tool) is None:
            msg = f"no command {tool!r}: install iproute2"
            raise RuntimeError(msg)


def run(*command: str) -> str:
    """A command that must succeed; what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        msg = f"{' '.join(command)}: {done.stderr.strip()}"
        raise RuntimeError(msg)
    return done.stdout
