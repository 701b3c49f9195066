"""The example that counts words into a table: right, although its counter is killed meanwhile."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from support.faults.fire import plays
from support.running.engine import Engine, wait_until

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "exactly_once.py"


def counts(database: Path) -> dict[str, int]:
    with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection:
        return dict(connection.execute("SELECT word, count FROM counts"))


@pytest.mark.cluster
def test_every_word_is_counted_once_although_a_counter_is_killed(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["\n".join(f"line {line} of tale {tale}, {line % 7}" for line in range(20_000)) for tale in "abc"]
    for name, text in zip("abc", texts, strict=True):
        (tmp_path / f"{name}.txt").write_text(text)
    expected = Counter(word for text in texts for word in text.split())

    engine.ok("submit", str(EXAMPLE), "a.txt", "b.txt", "c.txt", timeout=110)
    wait_until(lambda: bool(counts(tmp_path / "counts.db")), 60, "some counts", engine.log_tails)
    next(process for process in engine.processes() if plays("count", process)).kill()
    wait_until(lambda: counts(tmp_path / "counts.db") == expected, 90, "all counts", engine.log_tails)
    assert engine.status("exactly_once")["checkpoints"]["restores"] == 1
    engine.ok("kill", "exactly_once")
    assert engine.leftovers() == []
