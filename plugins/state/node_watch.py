"""One watch of a node, however its changes are found."""

from __future__ import annotations

import abc
import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


class NodeWatch(abc.ABC):
    """A callback that can be cancelled, also while it runs."""

    def __init__(self, path: str, callback: Callable[[], None]) -> None:
        self.path = path
        self._callback = callback
        self._cancelled = False
        # held while the callback runs, so that cancel() can promise that none starts later
        self._calling = threading.RLock()

    def cancel(self) -> None:
        with self._calling:
            self._cancelled = True
        self.leave()

    @abc.abstractmethod
    def leave(self) -> None:
        """Stop looking for changes on behalf of this watch."""

    def fire(self) -> None:
        with self._calling:
            if self._cancelled:
                return
            try:
                self._callback()
            except Exception:
                log.exception("the callback of a watch on %s failed", self.path)

    def end(self) -> None:
        """As cancel(), for a watcher that is closing: does not wait for a callback that runs."""
        self._cancelled = True
