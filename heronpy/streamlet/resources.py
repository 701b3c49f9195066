"""What a container asks for."""

from __future__ import annotations


class Resources:
    """CPU cores and bytes of memory: `Resources().set_cpu(2).set_ram_in_gb(4)`."""

    def __init__(self) -> None:
        self._cpu, self._ram = 0.0, 0

    def set_cpu(self, cpu: float) -> Resources:
        self._cpu = float(cpu)
        return self

    def set_ram(self, ram: float) -> Resources:
        """In bytes."""
        self._ram = int(ram)
        return self

    def set_ram_in_mb(self, ram: float) -> Resources:
        return self.set_ram(ram * 1024 * 1024)

    def set_ram_in_gb(self, ram: float) -> Resources:
        return self.set_ram_in_mb(ram * 1024)

    def get_cpu(self) -> float:
        return self._cpu

    def get_ram(self) -> int:
        return self._ram

    def __repr__(self) -> str:
        return f"Resource {{cpu: {self._cpu:f}, ram: {self._ram:d}}}"
