"""Apache Heron's path of `heronpy.spout`."""

from heronpy.spout import Spout

__all__ = ["Spout"]
