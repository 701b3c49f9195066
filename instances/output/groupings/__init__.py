"""Which consumer tasks a tuple goes to. One file per grouping; `make_grouping` picks."""

from heronpy.instances.output.groupings.make import Grouping, make_grouping

__all__ = ["Grouping", "make_grouping"]
