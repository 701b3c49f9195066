"""Where a machine listens when `transport.host` is an address, and when it is a network."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import psutil
import pytest

from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.listen_address import check_host, own_address
from heronpy.kernel.transport import Transport


@pytest.fixture
def interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two cards, one of which has two addresses."""

    def address(text: str, family: int = socket.AF_INET) -> SimpleNamespace:
        return SimpleNamespace(family=family, address=text)

    found = {
        "lo": [address("127.0.0.1"), address("::1", socket.AF_INET6)],
        "eth0": [address("10.1.0.20"), address("10.1.0.3"), address("fe80::1%eth0", socket.AF_INET6)],
        "eth1": [address("192.168.7.9")],
    }
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: found)


@pytest.mark.usefixtures("interfaces")
@pytest.mark.parametrize(
    ("host", "listens"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("203.0.113.5", "203.0.113.5"),
        ("192.168.0.0/16", "192.168.7.9"),
        ("10.1.0.0/24", "10.1.0.3"),
        ("10.1.0.20/32", "10.1.0.20"),
        ("10.1.0.77/24", "10.1.0.3"),
    ],
)
def test_a_network_means_the_lowest_address_of_this_machine_in_it(host: str, listens: str) -> None:
    assert own_address(host) == listens


@pytest.mark.usefixtures("interfaces")
def test_a_machine_outside_the_network_says_so_in_one_line() -> None:
    with pytest.raises(UserError) as caught:
        own_address("172.16.0.0/12")
    assert str(caught.value) == (
        "this machine has no address in the network 172.16.0.0/12 of transport.host"
        " (try: run ip address, then set a network that every machine is in)"
    )


@pytest.mark.parametrize("host", ["10.0.0.0/64", "10.0.0/24", "worker/24", "/", "fd00::/8"])
def test_what_is_no_network_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match=r'must be an address or a network such as "10.0.0.0/24", got '):
        check_host(host)


def test_a_socket_advertises_the_address_that_it_listens_on() -> None:
    with Transport(host="127.0.0.0/8") as transport:
        router = transport.router_tcp()
        assert router.endpoint.startswith("tcp://127.0.0.1:")
