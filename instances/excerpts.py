"""Values of the user's in messages."""

from __future__ import annotations

#: no value takes more characters of a message
LONGEST = 500


def shown(value: object) -> str:
    """The beginning of its repr, which is user code and may fail."""
    try:
        return f"{value!r:.{LONGEST}}"
    except Exception as error:
        return f"a {type(value).__name__} whose repr failed ({type(error).__name__})"
