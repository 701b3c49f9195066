"""Apache Heron's path of `heronpy.spout`."""

from heronpy.spout import BaseSpout

__all__ = ["BaseSpout"]
