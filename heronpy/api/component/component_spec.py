"""Apache Heron's path of `heronpy.spec`."""

from heronpy.spec import GlobalStreamId, HeronComponentSpec

__all__ = ["GlobalStreamId", "HeronComponentSpec"]
