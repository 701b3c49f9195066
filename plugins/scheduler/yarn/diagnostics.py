"""YARN's diagnostics of ended containers as exit status and one line."""

from __future__ import annotations

import re

#: from this exit status on, a shell means a signal
_SIGNALS = 128

#: YARN puts the end of a container's stderr into the diagnostics
_STDERR = re.compile(r"^Last \d+ bytes of stderr :$(.*?)^\s*$", re.MULTILINE | re.DOTALL)


def exit_of(status: int, diagnostics: str) -> tuple[int | None, str]:
    """Exit status (minus the number of a signal, None if there is none), and the reason in one line."""
    if status < 0:
        return None, _first_line(diagnostics)
    if status > _SIGNALS:
        return _SIGNALS - status, last_words(diagnostics)
    return status, last_words(diagnostics)


def last_words(diagnostics: str) -> str:
    """The last line that the container wrote to its stderr."""
    found = _STDERR.findall(f"{diagnostics}\n\n")
    lines = found[-1].strip().splitlines() if found else []
    return lines[-1].strip() if lines else ""


def _first_line(diagnostics: str) -> str:
    """Without the time that YARN writes in front."""
    line = diagnostics.strip().partition("\n")[0]
    return re.sub(r"^\[[^\]]*\]\s*", "", line)
