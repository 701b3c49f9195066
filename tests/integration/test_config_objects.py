"""Objects of the user's own classes travel in the config, wherever those classes are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running.engine import Engine, wait_until

#: the module beside the topology file
SHOP = """
from heronpy import ICustomGrouping


class Prices:
    def __init__(self, prices):
        self.prices = prices


class Cheapest(ICustomGrouping):
    def prepare(self, context, component, stream, target_tasks):
        self.tasks = target_tasks

    def choose_tasks(self, values):
        return [self.tasks[0]]
"""

TOPOLOGY = """
from heronpy import Bolt, Grouping, Spout, Topology
from shop import Cheapest, Prices


class Fruit(Spout):
    outputs = ["fruit"]

    @classmethod
    def splits(cls, config):
        return sorted(config["prices"].prices)

    def initialize(self, config, context):
        self.waiting = list(self.splits)

    def next_tuple(self):
        if self.waiting:
            self.emit([self.waiting.pop()])


class Till(Bolt):
    def initialize(self, config, context):
        self.prices = config["prices"].prices

    def process(self, tup):
        with open("RESULT", "a") as file:
            file.write(f"{tup.fruit} {self.prices[tup.fruit]}\\n")


class Shop(Topology):
    fruit = Fruit.spec(config={"prices": Prices({"fig": 3, "pear": 2})})
    till = Till.spec(
        inputs={fruit: Grouping.custom(Cheapest())}, config={"prices": Prices({"fig": 5, "pear": 4})}
    )
"""


@pytest.mark.cluster
def test_a_class_in_a_module_beside_the_file_is_found_by_instances(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    result = tmp_path / "sold.txt"
    file = tmp_path / "topology.py"
    file.write_text(TOPOLOGY.replace("RESULT", str(result)))

    engine.ok("submit", str(file))
    wait_until(
        lambda: result.exists() and len(result.read_text().splitlines()) == 2, 30, "sales", engine.log_tails
    )
    assert sorted(result.read_text().splitlines()) == ["fig 5", "pear 4"]
    engine.ok("kill", "Shop")
    assert engine.leftovers() == []
