"""Folders that outlive a power cut: what a process remembers of those that it has made."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from heronpy.kernel.machine import durable
from heronpy.kernel.machine.durable import make_durable


def test_the_folders_of_checkpoints_long_gone_take_little_memory(tmp_path: Path) -> None:
    durable._known.clear()
    tracemalloc.start()
    try:
        for checkpoint in range(300):
            folder = tmp_path / "checkpoints" / "words" / "0123456789ab" / str(checkpoint)
            make_durable(folder)
            folder.rmdir()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 100_000, f"{size} bytes for 300 folders"
