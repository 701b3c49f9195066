"""Hashtags by what they begin with: for each prefix the two that were used most in the last minute.

Run it:
    heronpy run autocompletion.py
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from heronpy import Pipeline
from heronpy.pipeline import Result, sinks, sliding, sources, tumbling


class Tweet(NamedTuple):
    at: datetime
    text: str


class Candidate(NamedTuple):
    prefix: str
    tag: str
    uses: int


def prefixes(counted: Result[str, int]) -> Iterator[Candidate]:
    """#her and #hero for #heron: each prefix with the tag and how often it was used."""
    for length in range(4, len(counted.key)):
        yield Candidate(counted.key[:length], counted.key, counted.value)


def shown(best: Result[str, list[Candidate]]) -> str:
    tags = ", ".join(f"{one.tag} ({one.uses})" for one in best.value)
    return f"{best.window.end:%H:%M:%S} {best.key}: {tags}"


NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TEXTS = [
    (3, "a #heron by the lake"),
    (9, "#heron and #hero"),
    (7, "late, but not too late: #hero"),
    (24, "my #hero"),
    (41, "#herons everywhere, #herons"),
    (77, "one more #heron"),
]
TWEETS = [Tweet(NOON + timedelta(seconds=second), text) for second, text in TEXTS]

p = Pipeline("autocompletion")
tags = (
    p.read(sources.items(TWEETS))
    .event_time(lambda tweet: tweet.at, lag="5s")
    .flat_map(lambda tweet: re.findall(r"#\w+", tweet.text), name="tags")
)
uses = tags.key_by(lambda tag: tag).window(sliding("1m", every="30s")).count(name="uses")
candidates = uses.flat_map(prefixes).key_by(lambda candidate: candidate.prefix)
best = candidates.window(tumbling("30s")).top(2, by=lambda one: (one.uses, one.tag), name="best")
best.map(shown).write(sinks.printed())
p.run()
