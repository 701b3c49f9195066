"""Sockets, keys and the reactor: the only package that imports zmq.

Begin with interface.py, what every socket does, and sockets.py, where they are made.
"""

from heronpy.kernel.transport.curve import Gatekeeper, KeyPair
from heronpy.kernel.transport.interface import Dealer, Delivery, Router
from heronpy.kernel.transport.reactor import Reactor, Timer
from heronpy.kernel.transport.sockets import Transport

__all__ = ["Dealer", "Delivery", "Gatekeeper", "KeyPair", "Reactor", "Router", "Timer", "Transport"]
