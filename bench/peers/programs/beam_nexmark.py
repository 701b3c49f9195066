"""Beam's direct runner: Q5, Q7 and Q8 of NEXMark with its windows. EVENTS-FILE QUERY."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import tempfile
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.window import FixedWindows, SlidingWindows, TimestampedValue
from nexmark import AUCTION, NAME, PERSON_ID, PRICE, RESERVE, SELLER, SIZE, SLIDE, at, measure


class WithEnd(beam.DoFn):
    """A count with its auction and the end of its window."""

    def process(self, counted, window=beam.DoFn.WindowParam):
        yield counted[0], counted[1], int(window.end.micros // 1000)


class Maxima(beam.CombineFn):
    """All elements whose value is the largest."""

    def __init__(self, value) -> None:
        self.value = value

    def create_accumulator(self):
        return []

    def add_input(self, best, one):
        if not best or self.value(one) > self.value(best[0]):
            return [one]
        return [*best, one] if self.value(one) == self.value(best[0]) else best

    def merge_accumulators(self, accumulators):
        found = []
        for best in accumulators:
            for one in best:
                found = self.add_input(found, one)
        return found

    def extract_output(self, best):
        return best


def q5(events):
    return (
        events
        | beam.Filter(lambda event: event[0] == "bid")
        | beam.WindowInto(SlidingWindows(SIZE, SLIDE))
        | beam.Map(lambda bid: (bid[AUCTION], 1))
        | beam.CombinePerKey(sum)
        | beam.ParDo(WithEnd())
        | beam.CombineGlobally(Maxima(lambda item: item[1])).without_defaults()
        | beam.FlatMap(lambda best: best)
    )


def q7(events):
    return (
        events
        | beam.Filter(lambda event: event[0] == "bid")
        | beam.WindowInto(FixedWindows(SIZE))
        | beam.CombineGlobally(Maxima(lambda bid: bid[PRICE])).without_defaults()
        | beam.FlatMap(lambda best: [bid[1:] for bid in best])
    )


def q8(events):
    windowed = events | beam.WindowInto(FixedWindows(SIZE))
    people = (
        windowed
        | "people" >> beam.Filter(lambda event: event[0] == "person")
        | "by person" >> beam.Map(lambda person: (person[PERSON_ID], person))
    )
    auctions = (
        windowed
        | "auctions" >> beam.Filter(lambda event: event[0] == "auction")
        | "by seller" >> beam.Map(lambda auction: (auction[SELLER], auction))
    )
    return (
        {"people": people, "auctions": auctions}
        | beam.CoGroupByKey()
        | beam.FlatMap(
            lambda group: [
                (person[PERSON_ID], person[NAME], auction[RESERVE])
                for person in group[1]["people"]
                for auction in group[1]["auctions"]
            ]
        )
    )


class Write(beam.DoFn):
    """A line of JSON for each result: functions run in processes of the runner's own."""

    def __init__(self, file: str) -> None:
        self.file = file

    def process(self, result):
        with open(self.file, "a") as out:
            out.write(json.dumps(result) + "\n")


def run(query, events):
    logging.disable(logging.WARNING)
    with tempfile.NamedTemporaryFile() as file:
        with beam.Pipeline(runner="DirectRunner", options=PipelineOptions([])) as p:
            timed = (
                p
                | beam.Create(events, reshuffle=False)
                | beam.Map(lambda event: TimestampedValue(event, at(event) / 1000))
            )
            {"Q5": q5, "Q7": q7, "Q8": q8}[query](timed) | beam.ParDo(Write(file.name))
        return [json.loads(line) for line in Path(file.name).read_text().splitlines()]


if __name__ == "__main__":
    measure(run, beam=importlib.metadata.version("apache-beam"))
