"""What topologies/replaying.py writes down: numbers sent, acked and processed."""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from pathlib import Path

from support.running.engine import wait_until

ENTRY = struct.Struct("<II")


def sent(folder: Path) -> Counter[int]:
    """How often each number was sent, by all processes that the spout has had."""
    return Counter(_numbers(folder / "sent"))


def processed(folder: Path) -> Counter[int]:
    """How often each number was processed, by all processes that the ledgers have had."""
    ledgers = [path.read_bytes() for path in folder.glob("ledger-*")]
    return Counter(number for data in ledgers for number, _ in ENTRY.iter_unpack(data))


def acks(folder: Path) -> int:
    """How many acks came so far, those of numbers that were sent again by a new spout included."""
    path = folder / "acked"
    return path.stat().st_size // 4 if path.exists() else 0


def progress(folder: Path) -> tuple[int, int]:
    """Numbers acked so far, and how often one was sent again."""
    numbers = _numbers(folder / "sent")
    return len(set(_numbers(folder / "acked"))), len(numbers) - len(set(numbers))


def catch_up(folder: Path) -> None:
    """Wait until all that was sent so far is acked: what is replayed later is owed to a later fault."""
    so_far = sent(folder).keys()
    wait_until(
        lambda: so_far <= set(_numbers(folder / "acked")),
        90,
        f"acks of the {len(so_far)} numbers sent so far",
        lambda: str(progress(folder)),
    )


def drain(folder: Path) -> None:
    """Stop the source and wait until all that it sent is acked."""
    (folder / "stop").touch()
    wait_until((folder / "stopped").exists, 30, "the end of the source", lambda: str(progress(folder)))
    total = len(sent(folder))
    wait_until(lambda: progress(folder)[0] == total, 90, f"{total} acks", lambda: str(progress(folder)))


def _numbers(path: Path) -> array[int]:
    data = path.read_bytes() if path.exists() else b""
    return array("I", data[: len(data) // 4 * 4])
