"""Config values on their way to an instance: plain ones as they are, others pickled."""

from __future__ import annotations

import math
import pickle
from typing import Any

from heronpy.errors import DefinitionError
from heronpy.kernel.plans import LogicalPlan
from heronpy.serializer import default_serializer

_MAX_INT = 2**63


def split_config(config: dict[str, Any], whose: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What JSON can hold with its type kept, and the pickles of the rest."""
    plain: dict[str, Any] = {}
    opaque: dict[str, bytes] = {}
    for key, value in config.items():
        if type(key) is not str or not _is_plain(key):
            msg = f"config of {whose} has the key {key!r}: keys must be strings"
            raise DefinitionError(msg)
        if _is_plain(value):
            plain[key] = value
        else:
            opaque[key] = _pickled(value, f"config {key!r} of {whose}")
    return plain, opaque


def merged_config(plan: LogicalPlan, component: str) -> dict[str, Any]:
    """What `initialize` gets: the topology's config, the component's on top.

    Unpickles, so it belongs in processes that run user code.
    """
    merged: dict[str, Any] = {}
    for part in (plan, plan.component(component)):
        merged.update(part.config)
        merged.update({key: pickle.loads(value) for key, value in part.opaque_config.items()})
    return merged


def _is_plain(value: object) -> bool:
    kind = type(value)
    if value is None or kind is bool:
        return True
    if isinstance(value, int):
        return kind is int and -_MAX_INT <= value < _MAX_INT
    if isinstance(value, float):
        return kind is float and math.isfinite(value)
    if isinstance(value, str):
        return kind is str and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, list):
        return kind is list and all(map(_is_plain, value))
    if isinstance(value, dict):
        keys_are_plain = all(type(key) is str and _is_plain(key) for key in value)
        return kind is dict and keys_are_plain and all(map(_is_plain, value.values()))
    return False


def _pickled(value: object, what: str) -> bytes:
    try:
        pickled = default_serializer.serialize(value)
        pickle.loads(pickled)
    except Exception as error:
        msg = f"{what} cannot be sent to an instance: {error}"
        raise DefinitionError(msg, hint="make it in initialize(config, context) instead") from error
    return pickled
