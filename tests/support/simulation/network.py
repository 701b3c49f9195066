"""Who listens where, who can reach whom, and the faults of roads between machines."""

from __future__ import annotations

from typing import Protocol

from support.simulation.sockets import Connection, Pipe, SimulatedDealer, SimulatedRouter
from support.simulation.world import World

from heronpy.kernel.flow.frame import ANCHORED, DATA

#: seconds on the way inside a machine, and between two
INSIDE, BETWEEN = 40e-6, 250e-6
#: a connection that has been silent for this long is made anew
SILENT = 5.0


class Place(Protocol):
    """A machine."""

    name: str


class Network:
    """All sockets of the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        #: endpoint → (where it is, who listens, keys that may connect; None for everybody)
        self._listeners: dict[str, tuple[Place, SimulatedRouter, set[str] | None]] = {}
        self._dealers: dict[SimulatedDealer, Place] = {}
        #: from → to, where nothing gets through; a road may be cut several times over
        self._cuts: list[tuple[str, str]] = []

    def listen(self, place: Place, router: SimulatedRouter, allowed: set[str] | None = None) -> None:
        self._listeners[router.endpoint] = (place, router, allowed)

    def dealer(self, place: Place, dealer: SimulatedDealer) -> SimulatedDealer:
        self._dealers[dealer] = place
        return dealer

    def forget(self, dealer: SimulatedDealer) -> None:
        self._dealers.pop(dealer, None)

    def close(self, router: SimulatedRouter) -> None:
        """The process that listened has died."""
        if self._listeners.get(router.endpoint, (None, None))[1] is router:
            del self._listeners[router.endpoint]
        for connection in list(router.routes.values()):
            connection.end()

    def connect(self, dealer: SimulatedDealer) -> Connection | None:
        """A new connection, if there is somebody who can be reached and lets us in."""
        found = self._listeners.get(dealer.endpoint)
        place = self._dealers.get(dealer)
        if found is None or place is None or not found[1].process.alive:
            return None
        there, router, allowed = found
        if self._is_cut(place.name, there.name) or self._is_cut(there.name, place.name):
            return None
        if allowed is not None and dealer.key not in allowed:
            return None
        connection = Connection(dealer, router, INSIDE if place is there else BETWEEN)
        router.accept(connection)
        return connection

    def on_the_way(self, one: Place, other: Place) -> int:
        """Messages between two machines."""
        connections = self._between(one.name, other.name)
        return sum(len(each.up.messages) + len(each.down.messages) for each in connections)

    def reset(self, one: Place, other: Place) -> None:
        """Every connection between two machines breaks."""
        for connection in self._between(one.name, other.name):
            connection.end()

    def cut(self, source: Place, target: Place, seconds: float) -> None:
        """Nothing gets from one machine to the other for a while; no connection ends by that."""
        self._cuts.append((source.name, target.name))
        now = self._world.now
        for connection in self._between(source.name, target.name):
            self._towards(connection, target.name).hold(now)
        self._world.after(seconds, lambda: self._heal(source, target, seconds))

    def echo(self, place: Place) -> int:
        """What the processes of a machine have just read comes to them again. How many batches that were."""
        found = 0
        for dealer, where in self._dealers.items():
            if where is not place or dealer.connection is None:
                continue
            pipe = dealer.connection.down
            batches = [parts for parts in pipe.recent if len(parts) == 2 and parts[0][3] in (DATA, ANCHORED)]
            for parts in batches:
                found += pipe.push(self._world.now, parts)
        return found

    def _heal(self, source: Place, target: Place, seconds: float) -> None:
        self._cuts.remove((source.name, target.name))
        if self._is_cut(source.name, target.name):
            return
        for connection in self._between(source.name, target.name):
            self._towards(connection, target.name).release(self._world.now)
        if seconds > SILENT:
            self.reset(source, target)

    def _between(self, one: str, other: str) -> list[Connection]:
        pair = {one, other}
        return [
            dealer.connection
            for dealer, place in self._dealers.items()
            if dealer.connection is not None
            and {place.name, self._place_of(dealer.connection.router)} == pair
        ]

    def _place_of(self, router: SimulatedRouter) -> str:
        return self._listeners[router.endpoint][0].name

    def _towards(self, connection: Connection, target: str) -> Pipe:
        return connection.up if self._place_of(connection.router) == target else connection.down

    def _is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cuts
