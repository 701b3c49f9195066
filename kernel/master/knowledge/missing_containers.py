"""Which containers the Topology Master has lost, and asks the scheduler to replace. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from heronpy.kernel.liveness.silence import SilenceDetector

#: a master that has received no beat at all for this long is more likely cut off itself
ALONE = 5.0


class MissingContainers:
    """Each container without beats for too long is requested once, and again after as long a time."""

    def __init__(self, containers: Iterable[int], patience: float) -> None:
        self._detector: SilenceDetector[int] = SilenceDetector(patience)
        self._containers: tuple[int, ...] = ()
        self.interval = self._detector.interval
        #: requested and without beats since → the reason in the request
        self.asked: dict[int, str] = {}
        #: whether no beat came lately from any container
        self._cut_off = False
        self.expect(containers)

    def expect(self, containers: Iterable[int]) -> None:
        """Expect beats of these containers, and no others, from now on."""
        before, self._containers = set(self._containers), tuple(containers)
        for container in before.difference(self._containers):
            self._detector.forget(container)
            self.asked.pop(container, None)
        for container in self._containers:
            if container not in before:
                self._detector.hear(container)

    def on_started(self, container: int) -> None:
        """It is being started: its timeout starts over."""
        if self._detector.awaits(container):
            self._detector.hear(container)

    def on_heard(self, container: int) -> bool:
        """True when a replacement that was asked for is not needed any more."""
        self.on_started(container)
        return self.asked.pop(container, None) is not None

    def look(self, now: float, given_up: Collection[int] = ()) -> dict[int, str]:
        """Containers to request now, with the reason; given-up ones wait for a person."""
        self._detector.look(now)
        was_cut_off, self._cut_off = self._cut_off, self._alone()
        if was_cut_off and not self._cut_off:
            # the first beat has arrived: those of the others may be in flight
            for container in self._containers:
                self.on_started(container)
        if self._cut_off:
            return {}
        silent = [each for each in self._detector.silent() if each not in given_up]
        found = {each: f"not heard of for {self._detector.quiet(each):.0f} s" for each in silent}
        for container in silent:
            self._detector.hear(container)
        self.asked.update(found)
        return found

    def _alone(self) -> bool:
        others = len(self._containers) > 1
        return others and all(self._detector.quiet(container) > ALONE for container in self._containers)
