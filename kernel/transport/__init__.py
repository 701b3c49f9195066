"""Sockets, keys and the reactor: the only package that imports zmq."""

from heronpy.kernel.transport.curve import Gatekeeper, KeyPair
from heronpy.kernel.transport.reactor import Reactor, Timer
from heronpy.kernel.transport.sockets import Dealer, Delivery, Router, Transport

__all__ = ["Dealer", "Delivery", "Gatekeeper", "KeyPair", "Reactor", "Router", "Timer", "Transport"]
