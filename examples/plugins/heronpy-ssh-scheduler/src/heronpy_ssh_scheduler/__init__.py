"""Announces the scheduler `ssh` to heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy import Scheduler, hookimpl


@hookimpl
def heron_schedulers() -> Mapping[str, type[Scheduler]]:
    from heronpy_ssh_scheduler.scheduler import SshScheduler

    return {"ssh": SshScheduler}
