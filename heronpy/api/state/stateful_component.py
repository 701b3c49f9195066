"""Apache Heron's path of `heronpy.state`."""

from heronpy.state import StatefulComponent

__all__ = ["StatefulComponent"]
