"""Settings in layers: default < file < environment < flag."""

from heronpy.kernel.config.config import Config
from heronpy.kernel.config.layers import load_config

__all__ = ["Config", "load_config"]
