"""Checks every incoming frame of a task and passes it to the input or the output side."""

from __future__ import annotations

import logging
from collections.abc import Callable

from heronpy.instances.acking.ack_codec import Acks
from heronpy.instances.counters import Counters
from heronpy.instances.input.inflow import Inflow
from heronpy.instances.near_rows import Payload
from heronpy.instances.output.outbox import Outbox
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import (
    ACK,
    ANCHORED,
    CREDIT,
    DATA,
    PROBE,
    SIGNAL,
    Prefix,
    claimed_sender,
    unseal,
)
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import Follower, decode_signal
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.addresses import task_name

log = logging.getLogger(__name__)


class FrameDispatch:
    """Dispatches frames to the inflow (data, probes, signals) and the outbox (credit)."""

    def __init__(self, me: Sender, inflow: Inflow, outbox: Outbox, counters: Counters) -> None:
        self._me = me
        self._inflow = inflow
        self._outbox = outbox
        self._counters = counters
        #: given by a spout that keeps trees
        self.on_acks: Callable[[Acks], None] | None = None
        #: called for data that was routed by a later plan than the one in use here
        self.on_later_plan: Callable[[int], None] = lambda _: None
        self._complaints = RateLimitedLog(log)

    def on_frame(self, prefix_bytes: bytes, payload: bytes) -> None:
        try:
            prefix = unseal(prefix_bytes, payload)
            self._dispatch(prefix, payload)
        except ProtocolError as error:
            sender = claimed_sender(prefix_bytes)
            self._refuse(task_name(*sender) if sender is not None else "our Stream Manager", error)

    def on_batch(self, prefix: Prefix, payload: Payload) -> None:
        """A batch from a task of the same process."""
        try:
            if prefix.run == self._me.run:
                self._take_data(prefix, payload)
        except ProtocolError as error:
            self._refuse(task_name(prefix.source, prefix.incarnation), error)

    def _refuse(self, sender: str, error: ProtocolError) -> None:
        self._counters.rejected += 1
        self._complaints.warning("dropped a frame from %s: %s", sender, error)

    def _dispatch(self, prefix: Prefix, payload: bytes) -> None:
        if prefix.destination != self._me.task:
            msg = f"frame for task {prefix.destination} reached task {self._me.task}"
            raise ProtocolError(msg)
        if prefix.run != self._me.run:
            # From before a restore, or from a run not yet known here, in which no credit is granted yet.
            return
        if prefix.kind in (DATA, ANCHORED):
            self._take_data(prefix, payload)
        elif prefix.kind == ACK:
            self._on_acks(payload)
        elif not self._is_of_another_plan(prefix):
            self._regulate(prefix, payload)

    def _take_data(self, prefix: Prefix, payload: Payload) -> None:
        if prefix.epoch > self._me.epoch:
            self.on_later_plan(prefix.epoch)
        self._inflow.on_data(prefix, payload)

    def _regulate(self, prefix: Prefix, payload: bytes) -> None:
        """Frames without tuples."""
        if prefix.kind == CREDIT:
            if not self._outbox.on_grant(prefix.source, prefix.incarnation, Grant.decode(payload)):
                msg = "credit from a task that is no receiver of ours, or that has been replaced"
                raise ProtocolError(msg)
        elif prefix.kind == PROBE:
            self._inflow.on_probe(prefix, payload)
        elif prefix.kind == SIGNAL:
            signal = decode_signal(payload)
            if isinstance(signal, Follower) and prefix.epoch > self._me.epoch:
                self.on_later_plan(prefix.epoch)  # it follows what was routed by that plan
            self._inflow.on_signal(prefix, signal)
        else:
            msg = f"frame of kind {prefix.kind}, which this task does not expect"
            raise ProtocolError(msg)

    def _is_of_another_plan(self, prefix: Prefix) -> bool:
        """Whether the sender is not yet, or no longer, known here because the topology is being scaled.

        Its credit frames may be dropped: they are sent again when both sides know each other.
        """
        side = self._outbox if prefix.kind == CREDIT else self._inflow
        return not side.knows(prefix.source, prefix.epoch) and prefix.epoch != self._me.epoch

    def _on_acks(self, payload: bytes) -> None:
        if self.on_acks is None:
            msg = f"acks reached task {self._me.task}, which tracks no tuples"
            raise ProtocolError(msg)
        self.on_acks(Acks.decode(payload))
