"""Sends large orders to one task and spreads the others over the rest, with a grouping of its own.

Run it:
    heronpy submit examples/custom_grouping.py
    heronpy status -v Orders
    heronpy kill Orders
"""

import itertools
import time

from heronpy import Bolt, Grouping, ICustomGrouping, Spout, Topology


class LargeApart(ICustomGrouping):
    """The first task gets what costs at least `limit`; the others take turns."""

    def __init__(self, limit):
        self.limit = limit

    def prepare(self, context, component, stream, target_tasks):
        self.large, *others = target_tasks
        self.others = itertools.cycle(others or target_tasks)

    def choose_tasks(self, values):
        _, price = values
        return [self.large if price >= self.limit else next(self.others)]


class Orders(Spout):
    outputs = ["order", "price"]

    def initialize(self, config, context):
        self.orders = itertools.count()

    def next_tuple(self):
        order = next(self.orders)
        self.emit([order, order * 7 % 1000])
        time.sleep(0.001)


class Ship(Bolt):
    def initialize(self, config, context):
        self.shipped = 0

    def process(self, tup):
        self.shipped += 1
        if self.shipped % 1000 == 0:
            self.log(f"{self.shipped} orders shipped, the last one cost {tup.price}")


class CustomGrouping(Topology):
    orders = Orders.spec()
    ship = Ship.spec(par=3, inputs={orders: Grouping.custom(LargeApart(limit=900))})
    config = {"topology.name": "Orders"}
