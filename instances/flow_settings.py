"""The settings that the data path reads, as plain numbers."""

from __future__ import annotations

from typing import Self

import msgspec

from heronpy.kernel.config import Config


class FlowSettings(msgspec.Struct, frozen=True):
    """Batching and credit; seconds, bytes and tuples. What each means is in heron.toml."""

    batch_tuples: int = 1000
    batch_bytes: int = 256 << 10
    linger: float = 0.002
    credit_window: float = 0.25
    credit_initial: int = 1024
    credit_bytes: int = 8 << 20
    credit_probe: float = 1.0
    watermark_interval: float = 0.005
    watermark_per_receiver: float = 0.002
    watermark_repeat: float = 2.0
    #: throw away what gets no credit instead of waiting
    drop: bool = False
    frame_bytes: int = 16 << 20
    idle_min: float = 0.001
    idle_max: float = 0.02
    #: most calls of next_tuple in one turn; the testing kit wants them one by one
    spout_calls: int = 1024

    @classmethod
    def from_config(cls, config: Config) -> Self:
        return cls(
            batch_tuples=config["batch.tuples"],
            batch_bytes=config["batch.bytes"],
            linger=config["batch.linger"],
            credit_window=config["credit.window"],
            credit_initial=config["credit.initial_tuples"],
            credit_bytes=config["credit.max_bytes"],
            credit_probe=config["credit.probe"],
            watermark_interval=config["watermark.interval"],
            watermark_per_receiver=config["watermark.per_receiver"],
            watermark_repeat=config["watermark.repeat"],
            drop=config["credit.when_full"] == "drop",
            frame_bytes=config["transport.frame_bytes"],
            idle_min=config["spout.idle_min"],
            idle_max=config["spout.idle_max"],
        )
