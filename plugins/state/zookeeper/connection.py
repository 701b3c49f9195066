"""One connection to ZooKeeper: calls that wait, but never for long, and sessions that end and begin anew."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE

from heronpy.kernel.errors import StateError
from heronpy.plugins.state.zookeeper.reachable import why_not
from heronpy.plugins.state.zookeeper.settings import Settings

log = logging.getLogger(__name__)

#: between two attempts to connect: a new leader is there within a second
_RETRY = {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": 0.5}

#: after this long, the wait is logged
SAY_AFTER = 1.0


class Interrupted(Exception):
    """The connection was lost before the answer came: the request may have been carried out, or not."""


class Connection:
    """Calls that are answered, or fail with a StateError, within `timeout` of the loss of the connection.

    So an event loop that calls is held up once in an outage, and not again with each call.
    """

    def __init__(self, settings: Settings, on_connected: Callable[[], None]) -> None:
        self._settings = settings
        self._on_connected = on_connected
        self._connected = threading.Event()
        self._lost_at = time.monotonic()
        self._session_id: int | None = None
        #: sessions that expired
        self.lost_sessions = 0
        #: a request that was not answered in time, and still is not
        self._overdue: Any = None
        self._closing = False
        self.acl = CREATOR_ALL_ACL if settings.credentials else OPEN_ACL_UNSAFE
        quiet = logging.getLogger(f"{__name__}.kazoo")
        # kazoo logs each attempt; one line of ours is enough
        quiet.setLevel(logging.CRITICAL)
        self.client = KazooClient(
            settings.hosts,
            timeout=settings.session,
            auth_data=[("digest", settings.credentials)] if settings.credentials else None,
            connection_retry=_RETRY,
            logger=quiet,
        )
        self.client.add_listener(self._on_state)

    @property
    def session_id(self) -> int | None:
        return self._session_id

    def open(self) -> None:
        """Connect, or raise the reason why not."""
        deadline = time.monotonic() + self._settings.timeout
        self.client.start_async()
        if not self._connected.wait(min(SAY_AFTER, self._settings.timeout)):
            log.warning("waiting for ZooKeeper at %s", self._settings.hosts)
            if not self._connected.wait(max(0.0, deadline - time.monotonic())):
                self.close()
                msg = f"cannot reach ZooKeeper: {why_not(self._settings.hosts)}"
                raise StateError(msg, hint="start it, or --set state.zookeeper.hosts=HOST:PORT,…")

    def ask(self, *requests: Callable[[KazooClient], Any]) -> list[Any]:
        """Answers to questions that change nothing and may be asked again; sent all at once.

        An answer that is one of ZooKeeper's errors is given as that error.
        """
        deadline = time.monotonic() + 2 * self._settings.timeout
        while time.monotonic() < deadline:
            with contextlib.suppress(Interrupted):
                return self._answers(requests)
        raise self._gone()

    def act(self, request: Callable[[KazooClient], Any]) -> Any:
        """Carry a change out once. ZooKeeper's errors are raised; Interrupted: the outcome is unknown."""
        (answer,) = self._answers([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self._closing = True
        # a client that cannot connect takes long to stop; its threads are daemons
        with contextlib.suppress(KazooException, KazooTimeoutError, OSError):
            self.client.stop()
            self.client.close()

    def _answers(self, requests: Any) -> list[Any]:
        self._await_connection()
        pending = [request(self.client) for request in requests]
        deadline = time.monotonic() + self._settings.timeout
        return [self._answer(each, deadline) for each in pending]

    def _answer(self, pending: Any, deadline: float) -> Any:
        try:
            return pending.get(timeout=max(0.0, deadline - time.monotonic()))
        except (ConnectionLoss, SessionExpiredError):
            raise Interrupted from None
        except KazooTimeoutError:
            self._overdue = pending
            raise self._gone() from None
        except (ConnectionClosedError, AuthFailedError) as error:
            msg = f"the connection to ZooKeeper is closed: {type(error).__name__}"
            raise StateError(msg) from None
        except KazooException as error:
            return error

    def _await_connection(self) -> None:
        if self._closing:
            msg = "the connection to ZooKeeper is closed"
            raise StateError(msg)
        if self._overdue is not None:
            if not self._overdue.ready():
                raise self._gone()
            self._overdue = None
        if not self._connected.is_set():
            left = self._lost_at + self._settings.timeout - time.monotonic()
            if left <= 0 or not self._connected.wait(left):
                raise self._gone()

    def _gone(self) -> StateError:
        msg = f"ZooKeeper at {self._settings.hosts} has not answered for {self._settings.timeout:g} s"
        return StateError(msg, hint="retry when it has a quorum")

    def _on_state(self, state: str) -> None:
        """On kazoo's own thread, which must not wait."""
        if self._closing:
            return
        if state != KazooState.CONNECTED:
            if self._connected.is_set():
                log.warning("lost the connection to ZooKeeper")
                self._lost_at = time.monotonic()
                self._connected.clear()
            return
        found = self.client.client_id[0]
        if self._session_id is not None:
            seconds = time.monotonic() - self._lost_at
            kept = "with the same session" if found == self._session_id else "and the session had expired"
            log.warning("connected to ZooKeeper again after %.1f s, %s", seconds, kept)
            self.lost_sessions += found != self._session_id
        self._session_id = found
        self._connected.set()
        self._on_connected()


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Turn an unexpected error of ZooKeeper into one line that names the node."""
    try:
        yield
    except NoAuthError:
        msg = f"ZooKeeper denies access to {path}: it was created with other credentials"
        raise StateError(msg, hint="--set state.zookeeper.credentials=FILE") from None
    except KazooException as error:
        msg = f"ZooKeeper refused {path}: {type(error).__name__} {error}".rstrip()
        raise StateError(msg) from error
