"""The reactor: timers, urgent things first, calls from threads, a clean end."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from heronpy.kernel.transport import Reactor
from heronpy.kernel.transport.descriptors import raise_limit


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    made = Reactor()
    yield made
    made.close()


class Pipe:
    """Something to wait for."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()

    def fill(self) -> None:
        os.write(self.writer, b"x")

    def drain(self) -> None:
        os.read(self.reader, 1)

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture
def pipes() -> Iterator[list[Pipe]]:
    made = [Pipe() for _ in range(3)]
    yield made
    for pipe in made:
        pipe.close()


def test_timers_run_in_the_order_they_are_due(reactor: Reactor) -> None:
    seen: list[str] = []
    reactor.call_later(0.02, lambda: seen.append("later"))
    reactor.call_later(0.0, lambda: seen.append("now"))
    reactor.call_later(0.02, reactor.stop)
    reactor.run()
    assert seen == ["now", "later"]


def test_a_timer_is_not_early_and_wakes_the_wait(reactor: Reactor) -> None:
    begun = time.monotonic()
    reactor.call_later(0.03, reactor.stop)
    reactor.run()
    assert time.monotonic() - begun >= 0.03


def test_a_cancelled_timer_does_not_run(reactor: Reactor) -> None:
    seen: list[str] = []
    once = reactor.call_later(0.0, lambda: seen.append("once"))
    often = reactor.call_every(0.001, lambda: often.cancel() or seen.append("often"))  # type: ignore[func-returns-value]
    once.cancel()
    once.cancel()
    reactor.call_later(0.02, reactor.stop)
    reactor.run()
    assert seen == ["often"]


def test_a_late_timer_runs_once_and_does_not_catch_up(reactor: Reactor) -> None:
    seen: list[float] = []
    reactor.call_every(0.002, lambda: seen.append(time.monotonic()))
    time.sleep(0.05)
    reactor.turn(0)
    assert len(seen) == 1
    reactor.turn(0)
    assert len(seen) == 1


@pytest.mark.parametrize("timeout", [0.0, -0.001, -5.0])
def test_a_deadline_that_has_passed_does_not_wait(reactor: Reactor, timeout: float) -> None:
    begun = time.monotonic()
    reactor.turn(timeout)
    assert time.monotonic() - begun < 1.0


def test_the_urgent_is_served_before_the_rest(reactor: Reactor, pipes: list[Pipe]) -> None:
    seen: list[str] = []
    reactor.register(pipes[0].reader, lambda: seen.append("data 0"))
    reactor.register(pipes[1].reader, lambda: seen.append("control"), urgent=True)
    reactor.register(pipes[2].reader, lambda: seen.append("data 2"))
    for pipe in pipes:
        pipe.fill()
    reactor.turn(None)
    assert seen[0] == "control"
    assert sorted(seen[1:]) == ["data 0", "data 2"]


@pytest.mark.parametrize("urgent", [False, True])
def test_a_handler_that_was_taken_out_in_the_same_turn_is_not_called(
    reactor: Reactor, pipes: list[Pipe], urgent: bool
) -> None:
    seen: list[int] = []

    def take_out_the_others(mine: int) -> None:
        seen.append(mine)
        for number, pipe in enumerate(pipes):
            if number != mine:
                reactor.unregister(pipe.reader)

    for number, pipe in enumerate(pipes):
        reactor.register(pipe.reader, lambda number=number: take_out_the_others(number), urgent=urgent)  # type: ignore[misc]
        pipe.fill()
    reactor.turn(None)
    reactor.turn(0)
    assert len(set(seen)) == 1
    assert len(seen) == 2


def test_unregistering_twice_does_no_harm(reactor: Reactor, pipes: list[Pipe]) -> None:
    reactor.register(pipes[0].reader, pipes[0].drain)
    reactor.unregister(pipes[0].reader)
    reactor.unregister(pipes[0].reader)
    pipes[0].fill()
    reactor.turn(0)


def test_calls_from_other_threads_run_here_in_order(reactor: Reactor) -> None:
    seen: list[tuple[int, int]] = []
    here = threading.get_ident()

    def caller(number: int) -> None:
        for call in range(100):
            reactor.call_from_thread(lambda call=call: seen.append((number, call)) or _assert_thread(here))  # type: ignore[misc, func-returns-value]

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while len(seen) < 400:
        reactor.turn(5)
    for thread in threads:
        thread.join()
    for number in range(4):
        assert [call for who, call in seen if who == number] == list(range(100))


def _assert_thread(expected: int) -> None:
    assert threading.get_ident() == expected


def test_a_call_that_calls_again_does_not_starve_the_others(reactor: Reactor, pipes: list[Pipe]) -> None:
    served: list[int] = []

    def again() -> None:
        reactor.call_from_thread(again)

    reactor.register(pipes[0].reader, lambda: served.append(1))
    pipes[0].fill()
    again()
    reactor.turn(None)
    assert served == [1]


def test_a_signal_ends_the_run(reactor: Reactor) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        reactor.stop_on_signals()
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGTERM)).start()
        reactor.run()
        assert reactor.stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_closed_lifeline_ends_the_run(reactor: Reactor) -> None:
    reader, writer = os.pipe()
    reactor.stop_on_close(reader)
    os.close(writer)
    reactor.run()
    os.close(reader)


def test_closing_gives_the_descriptor_back_and_a_late_wake_touches_nobody_elses() -> None:
    before = set(os.listdir("/proc/self/fd"))
    reactors = [Reactor() for _ in range(20)]
    for reactor in reactors:
        reactor.close()
    assert set(os.listdir("/proc/self/fd")) == before
    reader, writer = os.pipe2(os.O_NONBLOCK)
    for reactor in reactors:
        reactor.wake()
        reactor.stop()
    with pytest.raises(BlockingIOError):
        os.read(reader, 8)
    os.close(reader)
    os.close(writer)


def test_a_wait_may_be_shorter_than_a_millisecond(
    reactor: Reactor, pipes: list[Pipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    """poll() has whole milliseconds: a spout that is due in 0.3 would be called in one."""
    waits: list[float] = []
    select_ = select.select

    def noting(*asked: Any) -> Any:
        waits.append(asked[3])
        return select_(*asked)

    monkeypatch.setattr(select, "select", noting)
    reactor.register(pipes[0].reader, pipes[0].drain)
    reactor.turn(0.0003)
    pipes[0].fill()
    reactor.turn(0.0004)
    assert waits == [0.0003, 0.0004]
    assert not select_([pipes[0].reader], [], [], 0)[0], "it was served"


def test_descriptors_beyond_the_reach_of_select_are_waited_for_as_well(
    reactor: Reactor, pipes: list[Pipe]
) -> None:
    raise_limit()
    high = fcntl.fcntl(pipes[0].reader, fcntl.F_DUPFD_CLOEXEC, 1024)
    reactor.register(high, pipes[0].drain)
    pipes[0].fill()
    reactor.turn(0.01)
    assert not select.select([pipes[0].reader], [], [], 0)[0], "it was served"
    reactor.unregister(high)
    os.close(high)


def test_a_descriptor_that_is_closed_while_it_is_waited_for_is_reported(reactor: Reactor) -> None:
    """Another thread of the user may close what a spout waits for: the spout is asked, and the wait ends."""
    reader, writer = os.pipe()
    seen: list[str] = []
    reactor.register(reader, lambda: seen.append("ready"))
    os.close(reader)
    reactor.turn(0.0004)
    assert seen == ["ready"]
    reactor.unregister(reader)
    os.close(writer)
