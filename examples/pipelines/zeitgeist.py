"""Spikes and dips: queries that are asked much more often, or much less, than in the seconds before.

A dip needs event time: that nothing was asked in a second is known when the watermark has passed it.

Run it:
    heronpy run zeitgeist.py
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from heronpy import Pipeline
from heronpy.pipeline import Context, Result, Timer, sinks, sources, tumbling

SECOND = timedelta(seconds=1)


@dataclass
class Model:
    """How often a query should be asked in a second: a mean in which the last seconds count most."""

    expected: float = 0.0
    next: datetime | None = None  # the end of the second that comes next
    mood: str = "as ever"

    def judge(self, query: str, count: int, end: datetime) -> Iterator[str]:
        mood, before = "as ever", self.mood
        if self.next is not None and not self.expected / 3 <= count <= self.expected * 3:
            mood = "a spike" if count > self.expected else "a dip"
        if mood != before and mood != "as ever":
            yield f"{end:%H:%M:%S} {query}: {mood}, {count} instead of {self.expected:.1f}"
        weight = 1.0 if self.next is None else 0.2 if mood == "as ever" else 0.05
        self.expected += weight * (count - self.expected)
        self.mood, self.next = mood, end + SECOND


def counted(model: Model, second: Result[str, int], context: Context[str]) -> Iterator[str]:
    while model.next is not None and model.next < second.window.end:
        yield from model.judge(context.key, 0, model.next)
    yield from model.judge(context.key, second.value, second.window.end)
    context.timer(second.window.end + SECOND)


def silent(model: Model, timer: Timer, context: Context[str]) -> Iterator[str]:
    yield from model.judge(context.key, 0, timer.at)
    context.timer(timer.at + SECOND)


# "news" is searched for until the twelfth second; at the end of the input there are no searches
OFTEN = {"weather": [4] * 16, "eclipse": [2] * 8 + [20, 20] + [2] * 6, "news": [5] * 12 + [0] * 4}
NOON = datetime(2026, 8, 12, 12, tzinfo=UTC)
ASKED = [(NOON + n * SECOND, query) for n in range(16) for query in OFTEN for _ in range(OFTEN[query][n])]

p = Pipeline("zeitgeist")
asked = p.read(sources.items(ASKED)).event_time(lambda one: one[0], lag="2s")
seconds = asked.key_by(lambda one: one[1]).window(tumbling("1s")).count(name="seconds")
unusual = seconds.key_by(lambda second: second.key).process(Model, counted, on_timer=silent, ttl="10m")
unusual.write(sinks.printed())
p.run()
