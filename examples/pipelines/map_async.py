"""Calls to a service, three at a time, in the order of the records; one that fails is made again.

Run it:
    heronpy run map_async.py
"""

import asyncio

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

PRICES = {"AAPL": 231, "NVDA": 139, "ORCL": 174}
failed: set[str] = set()


async def quote(symbol: str) -> tuple[str, int]:
    """Stands for a request over the network; the first one for ORCL fails."""
    await asyncio.sleep(0.01)
    if symbol == "ORCL" and symbol not in failed:
        failed.add(symbol)
        raise ConnectionError
    return symbol, PRICES[symbol]


p = Pipeline("map_async")
(
    p.read(sources.items(["ORCL", "AAPL", "NVDA", "AAPL"]))
    .map_async(quote, at_once=3, timeout="5s", retries=2)
    .map(lambda found: f"{found[0]} {found[1]}")
    .write(sinks.printed())
)
p.run()
