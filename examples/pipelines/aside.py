"""More than one way out of a step: what cannot be parsed, and what is worth a second look.

Run it:
    heronpy run aside.py
"""

from collections.abc import Iterator
from dataclasses import dataclass

from heronpy import Pipeline
from heronpy.pipeline import Context, Tag, sinks, sources

LINES = ["ada 12", "grace 7", "ada twelve", "grace 70", "ada 13"]
HIGH = Tag[str]("high")


@dataclass
class Spent:
    euros: int = 0


def parsed(line: str) -> tuple[str, int]:
    name, euros = line.split()
    return name, int(euros)


def spend(spent: Spent, order: tuple[str, int], context: Context[str]) -> Iterator[str]:
    spent.euros += order[1]
    if order[1] > 50:
        context.side(HIGH, f"look at {context.key}: {order[1]} euros at once")
    yield f"{context.key} has spent {spent.euros}"


p = Pipeline("aside")
orders = p.read(sources.items(LINES)).map(parsed, on_error="aside")
spent = orders.key_by(lambda order: order[0]).process(Spent, spend, name="spend")
spent.write(sinks.printed())
spent[HIGH].write(sinks.printed(), name="high")
refused = orders.errors.map(lambda left: f"not an order: {left.record!r} ({left.error})")
refused.write(sinks.printed(), name="refused")
p.run()
