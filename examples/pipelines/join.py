"""Orders with their customers, known or not, and what each customer has spent.

Run it:
    heronpy run join.py
"""

from typing import NamedTuple

from heronpy import Pipeline
from heronpy.pipeline import agg, sinks, sources


class Customer(NamedTuple):
    id: int
    name: str


class Order(NamedTuple):
    customer: int
    euros: int


p = Pipeline("join")
customers = p.read(sources.items([Customer(1, "Ada"), Customer(2, "Grace")]), name="customers")
orders = p.read(sources.items([Order(2, 30), Order(1, 5), Order(2, 12), Order(3, 7)]), name="orders")

# a table that fits into memory: each order as it comes, with the row of its customer
(
    orders.hash_join(customers, on=lambda order: order.customer, key=lambda customer: customer.id, how="left")
    .map(lambda pair: f"{pair[0].euros} euros by {pair[1].name if pair[1] else 'an unknown customer'}")
    .write(sinks.printed(), name="each")
)

# two streams of any size, at their end: each key goes to one task
(
    customers.key_by(lambda customer: customer.id)
    .join(orders.key_by(lambda order: order.customer))
    .key_by(lambda found: found.value[0].name)
    .aggregate(agg.sum(lambda found: found.value[1].euros))
    .map(lambda total: f"{total[0]} has spent {total[1]} euros")
    .write(sinks.printed(), name="totals")
)
p.run()
