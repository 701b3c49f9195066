"""Containers as containers of Hadoop's YARN, one application per topology."""

from heronpy.plugins.scheduler.yarn.scheduler import YarnScheduler

__all__ = ["YarnScheduler"]
