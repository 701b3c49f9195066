"""Apache Heron's path of `heronpy.bolt`."""

from heronpy.bolt import Bolt

__all__ = ["Bolt"]
