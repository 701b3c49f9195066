"""PySpark and PyArrow, which are optional."""

from __future__ import annotations

import importlib
from typing import Any

from heronpy.kernel.errors import PluginError


def arrow() -> Any:
    """The module pyarrow, or one line that says how to get it."""
    return needed("pyarrow")


def needed(package: str, whose: str = "heronpy.spark") -> Any:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        msg = f"{whose} needs the package {error.name}, and this Python does not have it"
        raise PluginError(msg, hint="pip install 'heron-py[spark]'") from None
