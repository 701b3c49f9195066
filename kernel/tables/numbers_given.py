"""Numbers for a column of a table, of the type that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def as_numbers(name: str, given: Any, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Copied. Arrays go by their types, as NumPy's "same kind" does; Python's integers by what they are."""
    import numpy as np

    array = np.asarray(given)
    if _is_plain(given) and array.size and array.dtype.kind in "iu" and kind.kind in "iu":
        limits = np.iinfo(kind)
        strange = [
            each for each in (int(array.min()), int(array.max())) if not limits.min <= each <= limits.max
        ]
        if strange:
            msg = f"value {name} of a table is {kind}, which {strange[0]} is not"
            raise ValueError(msg)
        return array.astype(kind)
    return array.astype(kind, casting="same_kind")


def _is_plain(given: Any) -> bool:
    """Python's own numbers: neither NumPy nor Arrow has given them a type."""
    return not hasattr(given, "dtype") and not hasattr(given, "type")
