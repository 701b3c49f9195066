"""A state for each key: thermometers that rise by more than five degrees from one reading to the next.

Run it:
    heronpy run process.py
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from heronpy import Pipeline
from heronpy.pipeline import Context, sinks, sources


class Reading(NamedTuple):
    place: str
    degrees: float


@dataclass
class Seen:
    """What is kept of a place: made anew for its first reading, saved with every checkpoint."""

    last: float | None = None
    alarms: int = 0


def rises(seen: Seen, reading: Reading, context: Context[str]) -> Iterator[str]:
    if seen.last is not None and reading.degrees - seen.last > 5:
        seen.alarms += 1
        yield f"{context.key}: {seen.last} to {reading.degrees}, alarm {seen.alarms}"
    seen.last = reading.degrees


READINGS = [
    Reading("cellar", 11.0),
    Reading("attic", 20.0),
    Reading("cellar", 12.5),
    Reading("attic", 29.0),
    Reading("cellar", 18.0),
    Reading("attic", 35.5),
]

p = Pipeline("process")
(
    p.read(sources.items(READINGS))
    .key_by(lambda reading: reading.place)
    .process(Seen, rises, name="rises")
    .write(sinks.printed())
)
p.run()
