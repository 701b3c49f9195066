"""Apache Heron's path of `heronpy.custom_grouping`."""

from heronpy.custom_grouping import ICustomGrouping

__all__ = ["ICustomGrouping"]
