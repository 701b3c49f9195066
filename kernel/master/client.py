"""Queries the master of a running topology, and pauses or resumes the topology."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import msgspec

from heronpy.kernel.client_session import ClientSession
from heronpy.kernel.errors import TimedOut, UserError
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import StatusReply, StatusRequest, unwrap, wrap
from heronpy.kernel.status import ContainerStatus, InstanceStatus, TopologyStatus
from heronpy.kernel.transport import Dealer
from heronpy.kernel.tree.live_node import change_live
from heronpy.kernel.tree.paths import FINISHED, PAUSED, Execution, ExecutorNode, Live, Registration, Tree
from heronpy.kernel.tree.registrations import given_up, read, reported

#: seconds in which an answer is expected; who takes longer is told what is waited for
AT_ONCE = 2.0


class MasterClient:
    """A registered client of one topology's master. Keep it for as long as you ask questions."""

    def __init__(self, state: StateManager, topology: str) -> None:
        self._state = state
        self._topology = topology
        self._tree = Tree(topology)
        self._session = ClientSession(state, topology)
        self._master: Registration | None = None
        self._dealer: Dealer | None = None
        self._replies: list[TopologyStatus] = []

    def status(self, timeout: float) -> TopologyStatus:
        """The master's answer; after `timeout` seconds without one, what the state tree knows."""
        deadline = time.monotonic() + timeout
        self._replies.clear()
        self._connect()
        self._ask()
        while not self._replies and time.monotonic() < deadline:
            patience = 0.02 if self._dealer is None else 0.2
            self._session.reactor.turn(min(patience, deadline - time.monotonic()))
            if not self._replies and self._connect():
                self._ask()
        if self._replies:
            return self._replies[-1]
        self._master = None  # the next question goes over a new connection: this one may be dead for good
        return unreachable(self._state, self._topology)

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self) -> None:
        if self._dealer is not None:
            self._dealer.send([wrap(StatusRequest())])

    def _connect(self) -> bool:
        """Follow the master; True when it is another one than before."""
        self._session.renew()
        registration = reported(self._state, self._tree.master, Registration)
        if registration is None or registration == self._master:
            return False
        if self._dealer is not None:
            self._session.disconnect(self._dealer)
        self._master = registration
        self._dealer = self._session.connect(registration, self._on_reply)
        return True

    def _on_reply(self) -> None:
        assert self._dealer is not None
        while (parts := self._dealer.receive()) is not None:
            message = unwrap(parts[-1])
            if isinstance(message, StatusReply):
                self._replies.append(TopologyStatus.from_json(message.status))


def topology_status(state: StateManager, topology: str, timeout: float) -> TopologyStatus:
    """One question to the master of a topology."""
    with MasterClient(state, topology) as client:
        return client.status(timeout)


def unreachable(state: StateManager, topology: str) -> TopologyStatus:
    """What can be said without a master."""
    tree = Tree(topology)
    execution = reported(state, tree.execution, Execution)
    plan = reported(state, tree.packing_plan, PackingPlan)
    placed = plan.containers if plan is not None else ()
    return TopologyStatus(
        name=topology,
        state="UNREACHABLE",
        reason=_why_unreachable(state, topology),
        submitted_at=execution.submitted_at if execution else 0.0,
        submitted_by=execution.submitted_by if execution else "",
        packing=execution.packing if execution else "",
        scheduler=execution.scheduler if execution else "",
        containers=tuple(ContainerStatus(id=container.id, state="unknown") for container in placed),
        instances=tuple(
            InstanceStatus(
                task=i.task,
                component=i.component,
                index=i.index,
                container=container.id,
                kind="",
                state="unknown",
            )
            for container in placed
            for i in container.instances
        ),
    )


def _why_unreachable(state: StateManager, topology: str) -> str:
    tree, again = Tree(topology), f"heronpy restart {topology} 0 tries again"
    how = given_up(state, tree, 0)
    if how is not None:
        return f"container 0, the topology master's, was {how}; {again}"
    executor = reported(state, tree.executor(0), ExecutorNode)
    for name, child in executor.children.items() if executor is not None else ():
        if child.state == "given_up":
            return f"{name} was given up after {child.streak} restarts in a row: {child.last_exit}; {again}"
    return "the topology master does not answer; its container is being restarted or the machine is busy"


def set_live(
    state: StateManager, topology: str, wanted: str, timeout: float, progress: Callable[[str], None]
) -> None:
    """Pause or resume a topology and wait until every spout has done so, reporting late ones to `progress`.

    A UserError when another command asks for the opposite meanwhile, or the topology has finished.
    """
    _refuse_finished(
        topology,
        change_live(
            state,
            topology,
            lambda live: live if live.state == FINISHED else msgspec.structs.replace(live, state=wanted),
        ),
    )
    reached = "paused" if wanted == PAUSED else "running"
    begun, told = time.monotonic(), ""
    with MasterClient(state, topology) as client:
        while True:
            status = client.status(timeout=min(timeout, AT_ONCE))
            late, waited = _late(status, reached), time.monotonic() - begun
            if not late:
                return
            _refuse_overtaken(state, topology, wanted)
            if status.state == "FAILED" or waited > timeout:
                what = f"{topology} is set to {wanted}, but not every spout has followed"
                msg = f"{what} after {waited:.0f} s: {late}"
                raise TimedOut(msg, hint=f"heronpy status {topology}")
            if waited > AT_ONCE and late != told:
                told = late
                progress(f"waiting: {late}")
            time.sleep(0.05)


def _refuse_finished(topology: str, live: Live) -> None:
    if live.state == FINISHED:
        msg = f"{topology} is FINISHED: its input has ended, and its spouts are not called any more"
        raise UserError(msg, hint=f"heronpy kill {topology}")


def _refuse_overtaken(state: StateManager, topology: str, wanted: str) -> None:
    live = read(state, Tree(topology).live, Live)
    if live is not None and live.state != wanted:
        _refuse_finished(topology, live)
        now = "its spouts are paused" if live.state == PAUSED else "its spouts emit"
        msg = f"{topology} was set to {live.state} by another command meanwhile: {now}"
        raise UserError(msg, hint=f"heronpy status {topology}")


def _late(status: TopologyStatus, reached: str) -> str:
    """Which spouts are not where they should be; empty when all are."""
    if status.state == "UNREACHABLE":
        return status.reason
    late = [spout for spout in status.instances if spout.kind == "spout" and spout.state != reached]
    named = ", ".join(f"{spout.label} ({spout.state})" for spout in late)
    return f"{named} not {reached}" if named else ""
