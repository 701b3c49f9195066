"""NEXMark: people, auctions and bids as Apache Beam generates them, for correctness and benchmarks."""

from __future__ import annotations

from heronpy.nexmark.generator import GeneratorConfig
from heronpy.nexmark.nexmark_records import Auction, Bid, Event, Person
from heronpy.nexmark.nexmark_source import NexmarkSource

__all__ = ["Auction", "Bid", "Event", "GeneratorConfig", "NexmarkSource", "Person"]
