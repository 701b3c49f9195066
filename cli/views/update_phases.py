"""The phases of an update while they pass: a line for each that is over, one that changes for the current."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from heronpy.cli.views.output import plural
from heronpy.cli.views.plan_view import shown_size
from heronpy.cli.views.status_progress import listed
from heronpy.kernel.tree.update import Ledger, Phase, Update

#: names for display, in order; several phases may be one step
STEPS: Final[tuple[tuple[str, tuple[Phase, ...]], ...]] = (
    ("packing", ("proposed",)),
    ("launch", ("prepare",)),
    ("hand-over", ("cut", "load")),
    ("reroute", ("release",)),
    ("verify", ("done",)),
)

_ORDER: Final = {phase: number for number, (_, phases) in enumerate(STEPS) for phase in phases}


class Phases:
    """Fed with every version of the node that is seen, some of which may have been missed."""

    def __init__(self, first_line: str, say: Callable[[str], None], echo: Callable[[str], None]) -> None:
        self._first_line = first_line
        #: for the line that changes, and for those that stay
        self._say, self._echo = say, echo
        self._shown = 0
        self._entered: dict[int, float] = {}
        self._current = ""
        self._waiting: tuple[str, ...] = ()

    def see(self, update: Update, now: float) -> None:
        step = _ORDER.get(update.phase)
        if step is None:
            if update.phase == "rollback":
                self._say(f"rolling back: {update.reason}")
            return
        self._entered.setdefault(step, now)
        while self._shown < step:
            self._echo(self._line(self._shown, update, now))
            self._shown += 1
        if update.phase == "done":
            self._echo(self._line(step, update, now))
        else:
            self._current = f"  {step + 1}/{len(STEPS)} {STEPS[step][0]}{_detail(update)}"
            self._waiting = ()
            self._say(self._current)

    def wait_for(self, names: tuple[str, ...]) -> None:
        """Name the tasks that a long phase waits for."""
        if names and names != self._waiting:
            self._waiting = names
            self._say(f"{self._current}   waits for {listed(names)}")

    def _line(self, step: int, update: Update, now: float) -> str:
        name, phases = STEPS[step]
        ledger = update.ledger or Ledger()
        seconds = self._seconds(step, phases, ledger.phases, now)
        text = {
            "packing": self._first_line,
            "launch": "all are ready for the change",
            "hand-over": f"{plural(ledger.groups_moved, 'key group')}, {shown_size(ledger.bytes_moved)}",
            "reroute": f"plan {update.epoch} is in force",
            "verify": f"{plural(ledger.lost, 'tuple')} lost",
        }[name]
        took = f"   {seconds:.1f} s" if seconds is not None else ""
        return f"✔ {step + 1}/{len(STEPS)} {name:<10} {text}{took}"

    def _seconds(
        self, step: int, phases: tuple[Phase, ...], measured: Mapping[str, float], now: float
    ) -> float | None:
        """As measured by the master; until it has reported that, as seen from here."""
        if any(phase in measured for phase in phases):
            return sum(measured.get(phase, 0.0) for phase in phases)
        begun = self._entered.get(step)
        if begun is None or STEPS[step][0] in ("packing", "verify"):
            return None
        return self._entered.get(step + 1, now) - begun


def _detail(update: Update) -> str:
    return f"   {', '.join(update.cut)}" if update.phase == "cut" and update.cut else ""
