"""Ctrl-C and SIGTERM end a foreground run, at whatever moment they come."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

from heronpy.cli.submitting.foreground import _noting_interrupts


@pytest.fixture(autouse=True)
def as_in_a_command() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


def test_an_interrupt_that_comes_while_an_object_is_finalized_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    with _noting_interrupts() as interrupted:
        Finalized()
    assert interrupted == [True]


def test_any_other_interrupt_ends_what_is_inside() -> None:
    went_on = False
    with _noting_interrupts() as interrupted:
        signal.raise_signal(signal.SIGTERM)
        went_on = True
    assert any(interrupted)
    assert not went_on
    assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
