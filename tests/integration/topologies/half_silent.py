"""Two splits in event time: one goes on, the other has said that it is at second 5 and says no more."""

from __future__ import annotations

from typing import Any

from heronpy import Bolt, Grouping, Spout, Topology

SECOND = 1_000_000


class Clicks(Spout):
    outputs = ["key", "at"]
    splits = ["going", "silent"]

    def next_tuple(self) -> None:
        owned: tuple[str, ...] = vars(self)["splits"]
        at = self.state.get("going", 0) if "going" in owned else 5
        if "going" in owned:
            self.state["going"] = at + 1
            self.emit([f"k{at % 7}", at])
        self.emit_watermark(at * SECOND if "silent" not in owned else 5 * SECOND)

    def held_by(self) -> str | None:
        return "split silent: try idle='30s'" if "silent" in vars(self)["splits"] else None


class Relay(Bolt):
    outputs = ["key", "at"]

    def process(self, tup: Any) -> None:
        self.emit([tup.key, tup.at])


class Windows(Bolt):
    def process(self, tup: Any) -> None:
        self.state[tup.key] = tup.at

    def on_watermark(self, at: int, idle: bool) -> None:
        """Only to hear it."""


class HalfSilent(Topology):
    clicks = Clicks.spec(par=2)
    relay = Relay.spec(inputs=[clicks])
    windows = Windows.spec(par=2, inputs={relay: Grouping.fields("key")})
