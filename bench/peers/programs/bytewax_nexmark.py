"""Bytewax: Q5, Q7 and Q8 of NEXMark with its windowing operators, one worker. EVENTS-FILE QUERY."""

from __future__ import annotations

import importlib.metadata
from datetime import UTC, datetime, timedelta

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main
from nexmark import AUCTION, NAME, PERSON_ID, PRICE, RESERVE, SELLER, SIZE, SLIDE, at, measure

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK = win.EventClock(
    ts_getter=lambda event: EPOCH + timedelta(milliseconds=at(event)),
    # events are in order; without this, those of a moment ago would be late by the wall clock
    wait_for_system_duration=timedelta(days=36_500),
)
TUMBLING = win.TumblingWindower(length=timedelta(seconds=SIZE), align_to=EPOCH)
SLIDING = win.SlidingWindower(length=timedelta(seconds=SIZE), offset=timedelta(seconds=SLIDE), align_to=EPOCH)


def q5(events):
    """Bids by auction and window, then the most of each window."""
    bids = op.filter("bids", events, lambda event: event[0] == "bid")
    counted = win.count_window("count", bids, CLOCK, SLIDING, lambda bid: str(bid[AUCTION])).down
    # (auction, (window, count)) → by window
    by_window = op.map("by_window", counted, lambda r: (str(r[1][0]), (int(r[0]), r[1][1])))

    def top(window_and_counts):
        window, counts = window_and_counts
        most = max(count for _, count in counts)
        end = int(window) * SLIDE * 1000 + SIZE * 1000
        return [(auction, count, end) for auction, count in counts if count == most]

    collected = op.fold_final("collect", by_window, list, _with)
    return op.flat_map("top", collected, top)


def _with(counts, one):
    counts.append(one)
    return counts


def q7(events):
    """The highest bids of each window."""
    bids = op.filter("bids", events, lambda event: event[0] == "bid")
    keyed = op.key_on("all", bids, lambda _: "all")

    def highest(best, bid):
        if not best or bid[PRICE] > best[0][PRICE]:
            return [bid]
        return [*best, bid] if bid[PRICE] == best[0][PRICE] else best

    def merged(one, other):
        for bid in other:
            one = highest(one, bid)
        return one

    folded = win.fold_window("highest", keyed, CLOCK, TUMBLING, list, highest, merged).down
    return op.flat_map("bids_again", folded, lambda r: [bid[1:] for bid in r[1][1]])


def q8(events):
    """Persons with their auctions, by person and window."""
    some = op.filter("some", events, lambda event: event[0] != "bid")
    keyed = op.key_on("person", some, lambda one: str(one[PERSON_ID] if one[0] == "person" else one[SELLER]))
    gathered = win.collect_window("gather", keyed, CLOCK, TUMBLING).down

    def joined(r):
        every = r[1][1]
        return [
            (person[PERSON_ID], person[NAME], auction[RESERVE])
            for person in every
            if person[0] == "person"
            for auction in every
            if auction[0] == "auction"
        ]

    return op.flat_map("join", gathered, joined)


def run(query, events):
    found = []
    flow = Dataflow("nexmark")
    stream = op.input("events", flow, TestingSource(events, batch_size=1000))
    op.output("found", {"Q5": q5, "Q7": q7, "Q8": q8}[query](stream), TestingSink(found))
    run_main(flow)
    return found


if __name__ == "__main__":
    measure(run, bytewax=importlib.metadata.version("bytewax"))
