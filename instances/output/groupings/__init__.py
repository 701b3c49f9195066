"""Which consumer tasks a tuple goes to. One file per grouping; `make_grouping` picks.

Each grouping also says what a change of plan does to rows that wait. Begin with grouping.py.
"""

from heronpy.instances.output.groupings.grouping import Grouping
from heronpy.instances.output.groupings.make import make_grouping

__all__ = ["Grouping", "make_grouping"]
