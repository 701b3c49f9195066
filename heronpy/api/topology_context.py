"""Apache Heron's path of `heronpy.context`."""

from heronpy.context import TopologyContext

__all__ = ["TopologyContext"]
