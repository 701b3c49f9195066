"""The example that reads a file and writes another: its result is exact."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.running.engine import Engine, wait_until

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "file_pipeline.py"


@pytest.mark.cluster
def test_every_word_of_the_file_is_counted_once(engine: Engine, tmp_path: Path) -> None:
    source, target = tmp_path / "text.txt", tmp_path / "counts.txt"
    text = "\n\n".join(f"line {number} of a heron's tale, {number % 7}" for number in range(2000))
    source.write_text(text)

    engine.ok("submit", str(EXAMPLE), str(source), str(target), timeout=110)
    expected = sorted(f"{count} {word}" for word, count in Counter(text.split()).items())

    wait_until(
        lambda: target.exists() and len(target.read_text().splitlines()) == len(expected), 30, "counts"
    )
    assert sorted(target.read_text().splitlines()) == expected
    engine.ok("kill", "file_pipeline")
    assert engine.leftovers() == []
