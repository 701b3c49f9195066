"""Apache Heron's path of `heronpy.bolt`."""

from heronpy.bolt import BaseBolt

__all__ = ["BaseBolt"]
