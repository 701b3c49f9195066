"""Apache Heron's path of `heronpy.constants`."""

from heronpy.constants import *  # noqa: F403 - the constants, all of them
