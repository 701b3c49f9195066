"""The user and machine that a request comes from, for display to others."""

from __future__ import annotations

import getpass
import os
import socket


def requester() -> str:
    """USER@HOST of this command."""
    return f"{_user()}@{socket.gethostname()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # a container's user often has no entry in the password file
        return str(os.getuid())
