"""The runner `local` keeps the contract of runners."""

from __future__ import annotations

from heronpy.testing.contracts.runner import RunnerContract


class TestLocal(RunnerContract):
    runner = "local"
