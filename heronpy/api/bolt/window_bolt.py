"""Apache Heron's path of `heronpy.window`."""

from heronpy.window import SlidingWindowBolt, TumblingWindowBolt, WindowContext

__all__ = ["SlidingWindowBolt", "TumblingWindowBolt", "WindowContext"]
