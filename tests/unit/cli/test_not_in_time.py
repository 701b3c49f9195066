"""`heronpy run` of what does not run in time: it is taken down, and one line says so."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from heronpy.cli.submitting import foreground
from heronpy.kernel.config import load_config
from heronpy.kernel.errors import TimedOut


def test_what_does_not_run_in_time_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> NoReturn:
        msg = "topology 'clicks' did not run within 2s"
        raise TimedOut(msg)

    taken_down: list[tuple[str, bool]] = []
    monkeypatch.setattr(foreground, "start", late)
    monkeypatch.setattr(
        foreground, "take_down", lambda _, __, name, *, keep_logs: taken_down.append((name, keep_logs))
    )
    config = load_config(os.devnull, environ={}, flags={"submit.timeout": "2s"})
    prepared: Any = SimpleNamespace(logical=SimpleNamespace(name="clicks"))
    state: Any = None
    with pytest.raises(
        TimedOut, match=r"^topology 'clicks' did not run within 2s, and was stopped; logs: .*clicks"
    ):
        foreground._started(config, state, prepared)
    assert taken_down == [("clicks", True)]
