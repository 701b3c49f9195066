"""Which keys have something to do when: an index over states, which can be made again from them."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator


class KeyCalendar:
    """Times with the keys that wait for them. A key may be entered for times that turn out to be nothing."""

    def __init__(self) -> None:
        self._keys: dict[int, dict[Hashable, None]] = {}
        self._times: list[int] = []

    def add(self, time: int, key: Hashable) -> None:
        keys = self._keys.get(time)
        if keys is None:
            self._keys[time] = {key: None}
            heapq.heappush(self._times, time)
        else:
            keys[key] = None

    @property
    def first(self) -> int | None:
        """The next time for which a key is entered."""
        return self._times[0] if self._times else None

    def due(self, until: int) -> Iterator[tuple[int, Hashable]]:
        """What is due, in order of time; keys that are entered meanwhile too."""
        while self._times and self._times[0] <= until:
            time = heapq.heappop(self._times)
            for key in self._keys.pop(time):
                yield time, key
