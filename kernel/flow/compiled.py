"""The compiled module `_column_keys.c`, or None: what it computes is computed in Python then, more slowly."""

from __future__ import annotations

import importlib
from types import ModuleType

columns: ModuleType | None
try:
    columns = importlib.import_module("heronpy.kernel.flow._column_keys")
except ImportError:  # the installation had no compiler, or one for another machine
    columns = None
