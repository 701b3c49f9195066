"""Engines with one thing wrong. Each must be caught: a suite that passes a mutant is no evidence.

They are patched in from here; the engine itself has no switch that turns a check off.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from support.simulation.run import Profile

from heronpy.instances.acking.tracker import Tracker
from heronpy.instances.output.outbox import Outbox
from heronpy.instances.task.bolt_task import BoltTask
from heronpy.kernel.flow.credit import Arrival, Receiving, Spending
from heronpy.kernel.flow.peer_link import LinkReceiver, LinkSender
from heronpy.kernel.master.knowledge.tuple_losses import TupleLosses
from heronpy.stream_manager.forwarder import Forwarder
from heronpy.stream_manager.inbound import Inbound

Patch = Callable[[pytest.MonkeyPatch], None]


class Mutant(NamedTuple):
    """What is wrong, which schedules show it, which oracles complain, and a seed where they do."""

    patch: Patch
    profiles: tuple[Profile, ...]
    oracles: tuple[str, ...]
    seed: int


def position_check_off(patch: pytest.MonkeyPatch) -> None:
    """A receiver takes whatever comes."""

    real = Receiving.on_frame

    def on_frame(self: Receiving, incarnation: int, position: int, count: int) -> Arrival:
        arrival = real(self, incarnation, position, count)
        return arrival if arrival.accepted else Arrival(True, 0)

    patch.setattr(Receiving, "on_frame", on_frame)


def instance_fence_off(patch: pytest.MonkeyPatch) -> None:
    """A Stream Manager forwards what a replaced instance sends."""
    patch.setattr(Forwarder, "_is_replaced", lambda self, identity: False)


def container_fence_off(patch: pytest.MonkeyPatch) -> None:
    """A Stream Manager hears one that has been replaced."""
    patch.setattr(Inbound, "fence", lambda self, container, incarnation, key="": None)


def ack_before_process(patch: pytest.MonkeyPatch) -> None:
    """A bolt acks a batch when it opens it."""
    real = BoltTask._open

    def opened(self: BoltTask, delivery: Any) -> Any:
        tuples = real(self, delivery)
        for tup in tuples:
            self._delegate.ack(tup)
        if self._parts.acks is not None:
            self._parts.acks.flush()
        return tuples

    patch.setattr(BoltTask, "_open", opened)


def drop_one_in_100_000(patch: pytest.MonkeyPatch) -> None:
    """Now and then a tuple vanishes before it is sent."""
    real, count = Outbox._send_batch, itertools.count(1)

    def send_batch(self: Outbox, lane: Any, batch: Any) -> None:
        rows, anchors = batch
        for at in reversed([at for at in range(len(rows)) if next(count) % 100_000 == 0]):
            del rows[at], lane.rows[at], anchors[at : at + 1], lane.edges[at : at + 1]
        real(self, lane, batch)

    patch.setattr(Outbox, "_send_batch", send_batch)


def reorder_on_reconnect(patch: pytest.MonkeyPatch) -> None:
    """A link takes each number once, in whatever order they come."""
    seen: dict[int, set[int]] = {}

    def on_frame(self: LinkReceiver, number: int) -> bool:
        known = seen.setdefault(id(self), set())
        self._behind = True
        if number in known:
            return False
        known.add(number)
        while self._expected in known:
            self._expected += 1
        return True

    real = LinkReceiver.__init__

    def begin(self: LinkReceiver) -> None:
        seen.pop(id(self), None)
        real(self)

    patch.setattr(LinkReceiver, "__init__", begin)
    patch.setattr(LinkReceiver, "on_frame", on_frame)


def resend_to_a_new_incarnation(patch: pytest.MonkeyPatch) -> None:
    """A restarted Stream Manager is sent what its predecessor may have had."""

    def succeed(self: LinkSender) -> int:
        self._first = self._cursor = self._high = 0
        return 0

    patch.setattr(LinkSender, "succeed", succeed)


def link_numbers_not_checked(patch: pytest.MonkeyPatch) -> None:
    """A link takes repeats for new frames."""

    def on_frame(self: LinkReceiver, number: int) -> bool:
        self._expected = max(self._expected, number + 1)
        self._behind = True
        return True

    patch.setattr(LinkReceiver, "on_frame", on_frame)


def timeouts_never_found(patch: pytest.MonkeyPatch) -> None:
    """A spout waits for ever for what was lost."""
    patch.setattr(Tracker, "expire", lambda self: None)


def gaps_never_told(patch: pytest.MonkeyPatch) -> None:
    """A link does not say what it misses."""
    real = LinkReceiver.reply

    def reply(self: LinkReceiver) -> bytes | None:
        self._missing = False
        return real(self)

    patch.setattr(LinkReceiver, "reply", reply)


def emitters_never_probe(patch: pytest.MonkeyPatch) -> None:
    """An emitter without credit waits, and never asks."""
    patch.setattr(Outbox, "probe", lambda self: None)


def losses_not_counted(patch: pytest.MonkeyPatch) -> None:
    """An emitter forgets what a receiver that died may have had."""
    real = Spending._start_over

    def start_over(self: Spending) -> None:
        known = self.maybe_lost
        real(self)
        self.maybe_lost = known

    patch.setattr(Spending, "_start_over", start_over)


def deaths_together_not_counted(patch: pytest.MonkeyPatch) -> None:
    """The master forgets what lay between two that died together."""
    patch.setattr(TupleLosses, "_neighbour_died_too", lambda self, emitter, death: False)


MUTANTS: dict[str, Mutant] = {
    "position_check_off": Mutant(position_check_off, ("links", "tracked", "untracked"), ("order",), 5004),
    "instance_fence_off": Mutant(instance_fence_off, ("tracked", "untracked"), ("fence",), 5014),
    "container_fence_off": Mutant(container_fence_off, ("tracked", "untracked"), ("fence",), 5017),
    "ack_before_process": Mutant(ack_before_process, ("tracked",), ("lost",), 5008),
    "reorder_on_reconnect": Mutant(reorder_on_reconnect, ("links",), ("lost", "order", "liveness"), 5004),
    "resend_to_a_new_incarnation": Mutant(resend_to_a_new_incarnation, ("untracked",), ("duplicated",), 5054),
    "link_numbers_not_checked": Mutant(
        link_numbers_not_checked, ("links",), ("lost", "order", "liveness"), 5004
    ),
    "timeouts_never_found": Mutant(timeouts_never_found, ("tracked",), ("liveness",), 5008),
    "gaps_never_told": Mutant(gaps_never_told, ("links",), ("lost", "liveness"), 5004),
    "losses_not_counted": Mutant(losses_not_counted, ("untracked",), ("interval",), 5201),
    "deaths_together_not_counted": Mutant(deaths_together_not_counted, ("untracked",), ("interval",), 5051),
    "emitters_never_probe": Mutant(emitters_never_probe, ("tracked", "untracked"), ("liveness",), 5002),
}
