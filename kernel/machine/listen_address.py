"""Where this machine listens: the address that `transport.host` says, or its own inside that network."""

from __future__ import annotations

import ipaddress
import socket

from heronpy.kernel.errors import UserError


def check_host(host: str) -> None:
    """ValueError for what looks like a network and is none."""
    try:
        _network(host)
    except ValueError:
        msg = f'must be an address or a network such as "10.0.0.0/24", got {host!r}'
        raise ValueError(msg) from None


def own_address(host: str) -> str:
    """The address to listen on and to advertise: `host`, or the lowest of our own inside that network."""
    network = _network(host)
    if network is None:
        return host
    found = [address for address in _addresses() if address in network]
    if not found:
        msg = f"this machine has no address in the network {host} of transport.host"
        raise UserError(msg, hint="run ip address, then set a network that every machine is in")
    return str(min(found))


def address_towards(host: str, port: int) -> str:
    """The address of this machine from which it would send to another; nothing is sent."""
    family, kind, protocol, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(target)
        return str(probe.getsockname()[0])


def _network(host: str) -> ipaddress.IPv4Network | None:
    return ipaddress.IPv4Network(host, strict=False) if "/" in host else None


def _addresses() -> list[ipaddress.IPv4Address]:
    import psutil  # only for those who listen: every verb reads settings, and should start fast

    return [
        ipaddress.IPv4Address(each.address)
        for interface in psutil.net_if_addrs().values()
        for each in interface
        if each.family == socket.AF_INET
    ]
