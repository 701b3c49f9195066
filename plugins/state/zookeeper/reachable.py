"""Why ZooKeeper cannot be reached, in words."""

from __future__ import annotations

import socket

#: seconds that each server gets
_TIMEOUT = 0.5


def why_not(hosts: str) -> str:
    """What is wrong with each server, for an error of one line."""
    return "; ".join(f"{host} {_trouble(host)}" for host in hosts.split(","))


def _trouble(host: str) -> str:
    name, _, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "2181")
    try:
        with socket.create_connection((name.strip("[]"), int(port)), _TIMEOUT):
            return "is there, but does not serve: an ensemble needs a majority of its servers"
    except socket.gaierror:
        return "has no address"
    except TimeoutError:
        return "does not answer"
    except OSError as error:
        return f"says: {(error.strerror or str(error)).lower()}"
