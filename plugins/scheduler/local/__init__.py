"""Containers as process groups of this machine."""

from heronpy.plugins.scheduler.local.scheduler import LocalScheduler

__all__ = ["LocalScheduler"]
