"""Apache Heron's path of `heronpy.tuple`."""

from heronpy.tuple import Tuple, TupleHelper

__all__ = ["Tuple", "TupleHelper"]
