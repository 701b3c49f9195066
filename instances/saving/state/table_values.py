"""Which columns of values a table has: names, and the NumPy type of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from heronpy.errors import DefinitionError

if TYPE_CHECKING:
    import numpy as np

#: NumPy's letters for bool, signed and unsigned integers, and floats
_NUMBERS: Final = "biuf"
#: bytes of the largest number that Arrow has a type for
_LARGEST: Final = 8


def value_types(name: str, keys: Any, values: Mapping[str, Any]) -> dict[str, np.dtype[Any]]:
    """The types of a table's values, one for each way to write it; DefinitionError for what is no number."""
    if not values:
        msg = f"table {name!r} needs at least one column of values"
        raise DefinitionError(msg, hint=f"self.state.table({name!r}, count='int64')")
    doubled = [value for value in values if value in keys.names]
    if doubled:
        msg = f"table {name!r} has a key and a value that are both named {doubled[0]!r}"
        raise DefinitionError(msg, hint="give the value another name")
    return {value: _number_type(f"value {value!r} of table {name!r}", kind) for value, kind in values.items()}


def _number_type(whose: str, kind: Any) -> np.dtype[Any]:
    import numpy as np

    try:
        found: np.dtype[Any] | None = np.dtype(kind).newbyteorder("=") if kind is not None else None
    except (TypeError, ValueError):
        found = None
    if found is None or found.kind not in _NUMBERS or found.itemsize > _LARGEST:
        msg = f"{whose} has the type {kind!r}, and a table holds numbers"
        raise DefinitionError(msg, hint="bool, or an integer or float such as 'int64' or numpy.float32")
    return found
