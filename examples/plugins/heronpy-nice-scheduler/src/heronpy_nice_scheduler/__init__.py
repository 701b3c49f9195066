"""Announces the scheduler `nice` to heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy import Scheduler, hookimpl


@hookimpl
def heron_schedulers() -> Mapping[str, type[Scheduler]]:
    from heronpy_nice_scheduler.scheduler import NiceScheduler

    return {"nice": NiceScheduler}
