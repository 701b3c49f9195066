"""What a task counts while it runs: plain numbers, added up here, read by the control thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heronpy.kernel.protocol import Sample, Totals

#: seconds in calls that emit nothing; less than this is not reported
LITTLE = 0.05


class Counters:
    """One task's numbers since it started."""

    def __init__(self, on_loss: Callable[[], None] = lambda: None) -> None:
        """`on_loss` is called when missing, maybe_lost or exposed has changed.

        That is told at once, before this process may die.
        """
        self.on_loss = on_loss
        self.emitted: dict[str, int] = {}
        #: stream → tuples that were thrown away for want of credit, one for each task they were for
        self.dropped: dict[str, int] = {}
        #: (component, stream) → tuples
        self.executed: dict[tuple[str, str], int] = {}
        #: trees of a spout that are not over
        self.pending = 0
        #: how many there may be; 0 where nothing limits them
        self.pending_limit = 0
        self.acked = 0
        self.failed = 0
        #: calls of user code that no tuple caused: ticks, on_config(), activate(), deactivate()
        self.other_calls = 0
        #: seconds inside process() or next_tuple(), waiting for credit left out
        self.busy_seconds = 0.0
        #: calls of process() or next_tuple()
        self.calls = 0
        self.waiting_seconds = 0.0
        #: label of a task → seconds for which it has given no credit
        self.held_up_seconds: Callable[[], Mapping[str, float]] = dict
        #: how far event time has come, in seconds since 1970, and how far that is behind the time of day
        self.event_time: Callable[[], tuple[float, float] | None] = lambda: None
        #: when process() or next_tuple() last came back
        self.returned_at = 0.0
        self.queued = 0
        #: tuples that were sent to this task and never arrived
        self.missing = 0
        #: tuples that a dead process may have held on their way to or from this task, or that were unreadable
        self.maybe_lost = 0
        #: upper bound of the tuples that would be lost if this process died
        self.exposed = 0
        #: frames that failed a check
        self.rejected = 0
        #: tuples that were set aside because they kill the task
        self.poisoned = 0
        #: metrics that user code registered, by name, as of their last bucket
        self.custom: dict[str, float] = {}

    def begin(self) -> None:
        """A task begins, perhaps in place of another: nothing waits, and nothing is pending."""
        self.queued = self.pending = self.exposed = 0

    def activity(self) -> int:
        """Grows with whatever can change a task, but for next_tuple() calls that emit nothing."""
        # Copies: the task's own thread may add a key meanwhile.
        tuples = sum(dict(self.emitted).values()) + sum(dict(self.executed).values())
        return tuples + self.acked + self.failed + self.other_calls

    def lost(self, missing: int, maybe_lost: int) -> None:
        """Count tuples that are certainly lost, and that may be."""
        if missing or maybe_lost:
            self.missing += missing
            self.maybe_lost += maybe_lost
            self.on_loss()

    def totals(self) -> Totals:
        """What a task that has ended reports with its heartbeat."""
        return Totals(
            emitted=sum(self.emitted.values()),
            executed=sum(self.executed.values()),
            acked=self.acked,
            failed=self.failed,
            custom=self.custom,
        )

    def figures(self) -> tuple[object, ...]:
        """What is in the samples, at a fraction of their cost: whether anything worth a report has changed.

        That a spout was asked in vain is none of it, until these calls have taken some time.
        """
        busy = self.busy_seconds // LITTLE
        numbers = (self.acked, self.failed, busy, self.waiting_seconds, self.missing)
        more = (self.rejected, self.poisoned, self.maybe_lost, self.queued, self.pending, self.pending_limit)
        tuples = (dict(self.emitted), dict(self.dropped), dict(self.executed))
        return (*numbers, *more, *tuples, dict(self.custom), dict(self.held_up_seconds()))

    def samples(self) -> list[Sample]:
        """Everything, ready to be sent."""
        counters = {
            "acked": self.acked,
            "failed": self.failed,
            "busy_seconds": self.busy_seconds,
            "calls": self.calls,
            "waiting_seconds": self.waiting_seconds,
            "missing": self.missing,
            "rejected": self.rejected,
            "poisoned": self.poisoned,
        }
        gauges: dict[str, float] = {
            # shrinks when what waited here is processed
            "maybe_lost": self.maybe_lost,
            "queued": self.queued,
            "pending": self.pending,
            "pending_limit": self.pending_limit,
        }
        if (event_time := self.event_time()) is not None:
            gauges["watermark_seconds"], gauges["watermark_lag_seconds"] = event_time
        # Copies: the task's own thread may add a key meanwhile.
        emitted, executed, custom = dict(self.emitted), dict(self.executed), dict(self.custom)
        dropped = dict(self.dropped)
        return [
            *(
                Sample(name="emitted", value=n, kind="counter", labels={"stream": s})
                for s, n in emitted.items()
            ),
            *(
                Sample(name="dropped", value=n, kind="counter", labels={"stream": s})
                for s, n in dropped.items()
            ),
            *(
                Sample(name="executed", value=n, kind="counter", labels={"from": c, "stream": s})
                for (c, s), n in executed.items()
            ),
            *(
                Sample(name="held_up_seconds", value=seconds, kind="counter", labels={"by": label})
                for label, seconds in self.held_up_seconds().items()
            ),
            *(Sample(name=name, value=value, kind="counter") for name, value in counters.items()),
            *(Sample(name=name, value=value, kind="gauge") for name, value in gauges.items()),
            *(
                Sample(name="custom", value=value, kind="gauge", labels={"metric": name})
                for name, value in custom.items()
            ),
        ]
