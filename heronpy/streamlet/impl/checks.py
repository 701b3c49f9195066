"""How streamlets refuse what cannot run: with a RuntimeError, as Apache's do, and in one line."""

from __future__ import annotations

from heronpy.kernel.errors import UserError


class StreamletError(UserError, RuntimeError):
    """A streamlet, config or builder that cannot run."""


def refuse_unless(sound: bool, message: str, *, hint: str = "") -> None:
    """A StreamletError."""
    if not sound:
        raise StreamletError(message, hint=hint)
