"""Apache Heron's path of `heronpy.component`."""

from heronpy.component import BaseComponent

__all__ = ["BaseComponent"]
