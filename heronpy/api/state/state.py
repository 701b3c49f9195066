"""Apache Heron's path of `heronpy.state`."""

from heronpy.state import HashMapState, State

__all__ = ["HashMapState", "State"]
