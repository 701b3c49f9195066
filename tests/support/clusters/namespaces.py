"""Several machines on one: network namespaces, and a router between them that can lose packets."""

from __future__ import annotations

import contextlib
import os
import subprocess
from types import TracebackType
from typing import Self

from support.suite.needs import needs_command, needs_namespaces, own_user


class Holder:
    """A process that does nothing but keep new namespaces: they end with it, and it ends with us."""

    def __init__(self, *unshare: str) -> None:
        self._process = subprocess.Popen(
            [*unshare, "sh", "-c", "echo && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"]},  # it belongs to no test's home
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            _, told = self._process.communicate()
            msg = f"{' '.join(unshare)}: {told.strip()}"
            raise RuntimeError(msg)

    @property
    def folder(self) -> str:
        """What the kernel shows of it."""
        return f"/proc/{self._process.pid}"

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Network:
    """Machines with an address each on one network, and a hub that passes packets between them.

    A machine is named by the file of its network namespace. Nothing here touches the network that the tests
    run on, so a normal user may have one as well: as root of a user namespace, to which all machines belong.
    """

    subnet = "10.77.0.0/24"

    def __init__(self, machines: int) -> None:
        needs_namespaces()
        for tool in ("ip", "ss"):
            needs_command(tool, "iproute2")
        self._cuts: list[tuple[str, str]] = []
        self._isolated: list[str] = []
        with contextlib.ExitStack() as made:
            hub = Holder("unshare", *own_user(), "--net")
            made.callback(hub.close)
            enter = ("nsenter", f"--user={hub.folder}/ns/user", "--preserve-credentials")
            self._as_root = enter if own_user() else ()
            self.hub = f"{hub.folder}/ns/net"
            self.machines = []
            for _ in range(machines):
                machine = Holder(*self._as_root, "unshare", "--net")
                made.callback(machine.close)
                self.machines.append(f"{machine.folder}/ns/net")
            self._addresses = {each: f"10.77.0.{n}" for n, each in enumerate([self.hub, *self.machines], 1)}
            self._make()
            self._made = made.pop_all()

    def inside(self, machine: str) -> tuple[str, ...]:
        """What to put in front of a command so that it runs there."""
        return (*self._as_root, *on_machine(machine))

    def cut(self, sender: str, receiver: str) -> None:
        """What one machine sends to another vanishes without a word; the other way is as it was."""
        self._ip(self.hub, "rule", "add", *self._rule(sender, receiver))
        self._cuts.append((sender, receiver))

    def isolate(self, machine: str) -> None:
        """Pull the cable: nobody hears from the machine, the hub included, and it hears from nobody."""
        self._ip(self.hub, "link", "set", "dev", self._port(machine), "down")
        self._isolated.append(machine)

    def heal(self) -> None:
        """Take back every cut."""
        while self._cuts:
            self._ip(self.hub, "rule", "del", *self._rule(*self._cuts.pop()))
        while self._isolated:
            self._plug_in(self._isolated.pop())

    def reset(self, machine: str) -> int:
        """Break every TCP connection between the machine and another; how many there were."""
        done = run(*self.inside(machine), "ss", "--kill", "--no-header", "-tn", "state", "established")
        return len(done.splitlines())

    def close(self) -> None:
        self._made.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _make(self) -> None:
        for namespace in self._addresses:
            self._ip(namespace, "link", "set", "dev", "lo", "up")
        self._ip(self.hub, "address", "add", f"{self._addresses[self.hub]}/32", "dev", "lo")
        run(*self.inside(self.hub), "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for machine in self.machines:
            cable = ("type", "veth", "peer", "name", "eth0", "netns", machine)
            self._ip(self.hub, "link", "add", "name", self._port(machine), *cable)
            self._ip(machine, "address", "add", f"{self._addresses[machine]}/32", "dev", "eth0")
            self._ip(machine, "link", "set", "dev", "eth0", "up")
            self._ip(machine, "route", "add", self._addresses[self.hub], "dev", "eth0")
            self._ip(machine, "route", "add", self.subnet, "via", self._addresses[self.hub])
            self._plug_in(machine)

    def _plug_in(self, machine: str) -> None:
        self._ip(self.hub, "link", "set", "dev", self._port(machine), "up")
        self._ip(self.hub, "route", "replace", self._addresses[machine], "dev", self._port(machine))

    def _rule(self, sender: str, receiver: str) -> tuple[str, ...]:
        return ("from", self._addresses[sender], "to", self._addresses[receiver], "blackhole")

    def _port(self, machine: str) -> str:
        return f"port{self.machines.index(machine) + 1}"

    def _ip(self, machine: str, *arguments: str) -> None:
        run(*self.inside(machine), "ip", *arguments)


def on_machine(machine: str) -> tuple[str, ...]:
    """What root, of this machine or of the user namespace, puts in front of a command to run it there."""
    return ("nsenter", f"--net={machine}")


def run(*command: str) -> str:
    """A command that must succeed; what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        msg = f"{' '.join(command)}: {done.stderr.strip()}"
        raise RuntimeError(msg)
    return done.stdout
