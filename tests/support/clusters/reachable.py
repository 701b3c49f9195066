"""Machines that this one reaches, and that reach it: network namespaces on a switch, with a cable to us."""

from __future__ import annotations

import itertools
import os
import subprocess
from types import TracebackType
from typing import Self

from support.clusters.namespaces import run
from support.suite.needs import needs_root_of_the_network

_numbers = itertools.count(1)


class ReachableNetwork:
    """Namespaces with an address each; clusters of the tests have their workers there.

    Whoever only ever binds loopback is not heard on this network. All of it is in a private range that is
    free here; the network of whoever runs the tests stays as it is but for one more interface. Needs root
    and iproute2.
    """

    def __init__(self, machines: int) -> None:
        needs_root_of_the_network()
        name = f"heronpy-{os.getpid()}-r{next(_numbers)}"
        self._hub = f"{name}-hub"
        self.machines = [f"{name}-{number}" for number in range(1, machines + 1)]
        self._namespaces = [self._hub, *self.machines]
        self._cable = ""
        try:
            for namespace in self._namespaces:
                run("ip", "netns", "add", namespace)
                run("ip", "-n", namespace, "link", "set", "dev", "lo", "up")
            self._prefix = self._claim_prefix()
            self._make()
        except BaseException:
            self.close()
            raise

    @property
    def here(self) -> str:
        """Our own address on this network."""
        return f"{self._prefix}.1"

    def address(self, machine: str) -> str:
        return f"{self._prefix}.{self.machines.index(machine) + 2}"

    def inside(self, machine: str) -> tuple[str, ...]:
        """What to put in front of a command so that it runs there."""
        return ("ip", "netns", "exec", machine)

    def close(self) -> None:
        """Remove what was made, as far as it was."""
        if self._cable:
            subprocess.run(["ip", "link", "del", self._cable], capture_output=True, check=False)
        for namespace in self._namespaces:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _claim_prefix(self) -> str:
        """A range that nobody else on this machine has: the cable's name says it, and is given out once."""
        for number in range(1, 255):
            cable = f"heronpy-78-{number}"
            plug = ("type", "veth", "peer", "name", "uplink", "netns", self._hub)
            taken = subprocess.run(
                ["ip", "link", "add", "name", cable, *plug], capture_output=True, text=True, check=False
            )
            if taken.returncode == 0:
                self._cable = cable
                return f"10.78.{number}"
            if "exists" not in taken.stderr:
                raise RuntimeError(taken.stderr.strip())
        msg = "all of 10.78.0.0/16 is in use: `ip link` shows by whom"
        raise RuntimeError(msg)

    def _make(self) -> None:
        run("ip", "-n", self._hub, "link", "add", "name", "switch", "type", "bridge")
        run("ip", "-n", self._hub, "link", "set", "dev", "switch", "up")
        for machine in self.machines:
            plug = ("type", "veth", "peer", "name", "eth0", "netns", machine)
            run("ip", "-n", self._hub, "link", "add", "name", self._port(machine), *plug)
            run("ip", "-n", machine, "address", "add", f"{self.address(machine)}/24", "dev", "eth0")
            run("ip", "-n", machine, "link", "set", "dev", "eth0", "up")
        for port in ("uplink", *map(self._port, self.machines)):
            run("ip", "-n", self._hub, "link", "set", "dev", port, "master", "switch", "up")
        run("ip", "address", "add", f"{self.here}/24", "dev", self._cable)
        run("ip", "link", "set", "dev", self._cable, "up")

    def _port(self, machine: str) -> str:
        return f"port{self.machines.index(machine) + 1}"
