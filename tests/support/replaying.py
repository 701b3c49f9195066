"""What the spout of topologies/replaying.py writes down."""

from __future__ import annotations

from pathlib import Path


def progress(folder: Path) -> tuple[int, int]:
    """Numbers acked and replayed so far."""
    words = (folder / "progress").read_text().split() if (folder / "progress").exists() else []
    return (int(words[0]), int(words[1])) if len(words) == 2 else (0, 0)
