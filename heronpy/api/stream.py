"""Apache Heron's path of `heronpy.stream`."""

from heronpy.stream import Grouping, Stream

__all__ = ["Grouping", "Stream"]
