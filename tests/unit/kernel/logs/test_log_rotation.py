"""Logs stay below their cap, whatever is written to them, and read on as if they were one file."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from heronpy.cli.reading.log_tail import LogFolder, LogFollower, tail
from heronpy.kernel.logs.log_rotation import (
    LEFT_BYTES,
    LOOK_BYTES,
    CappedOutput,
    Caps,
    cap_log,
    cap_logs,
    line_writer,
    log_extents,
    read_log,
)

KB = 1024
CAPS = Caps(256 * KB, 3)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[CappedOutput]:
    descriptor = os.open(tmp_path / "count[1].log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    yield CappedOutput(descriptor, tmp_path / "count[1].log", CAPS)
    os.close(descriptor)


def used(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def fill(path: Path) -> None:
    """Write until nothing more fits."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)


def numbered(numbers: range, width: int = 100) -> bytes:
    return b"".join(f"{number:0{width - 1}}\n".encode() for number in numbers)


def test_files_together_stay_below_the_cap(tmp_path: Path, log: CappedOutput) -> None:
    for first in range(0, 40_000, 100):
        log.write(numbered(range(first, first + 100)))
        assert used(tmp_path) <= CAPS.most * CAPS.files + 2 * LOOK_BYTES
    extent = log_extents(tmp_path)["count[1]"]
    assert extent.stop == 4_000_000
    assert CAPS.most * (CAPS.files - 1) <= len(extent) <= CAPS.most * CAPS.files + 2 * LOOK_BYTES
    assert (
        read_log(tmp_path, "count[1]", extent.start, len(extent)) == numbered(range(40_000))[extent.start :]
    )
    assert tail(LogFolder(tmp_path), "count[1]", extent, 2) == [
        f"{number:099}" for number in (39_998, 39_999)
    ]


def test_one_huge_write_and_a_single_file(tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    log = CappedOutput(descriptor, path, Caps(64 * KB, 1))
    log.write(numbered(range(30_000)))
    os.close(descriptor)
    assert used(tmp_path) <= 64 * KB + LOOK_BYTES
    extent = log_extents(tmp_path)["one"]
    assert extent.stop == 3_000_000
    assert read_log(tmp_path, "one", extent.start, len(extent)) == numbered(range(30_000))[extent.start :]


def test_a_follower_misses_nothing_when_a_file_is_put_aside(tmp_path: Path, log: CappedOutput) -> None:
    logs, seed = LogFolder(tmp_path), random.Random(7)
    log.write(b"")
    follower, first = LogFollower(logs, "count[1]"), 0
    seen: list[str] = []
    while first < 20_000:
        more = seed.randrange(1, 2000)
        log.write(numbered(range(first, first + more)))
        first += more
        seen += follower.new_lines(logs.extents()["count[1]"])
    assert seen == [f"{number:099}" for number in range(first)]


def test_a_follower_that_is_too_slow_says_what_it_has_missed(tmp_path: Path, log: CappedOutput) -> None:
    logs = LogFolder(tmp_path)
    log.write(numbered(range(10)))
    follower = LogFollower(logs, "count[1]", 1000)
    log.write(numbered(range(10, 40_000)))
    extent = logs.extents()["count[1]"]
    told, *lines = follower.new_lines(extent)
    assert told == f"… {extent.start - 1000} bytes are gone (log.max_bytes, log.files)"
    assert lines[-1] == f"{39_999:099}"


def test_what_the_users_own_processes_write_is_capped_too(tmp_path: Path, log: CappedOutput) -> None:
    command = ["sh", "-c", "head -c 300000 /dev/zero; sleep 0; head -c 700000 /dev/zero"]
    subprocess.run(command, stdout=line_writer(log), check=True)
    assert used(tmp_path) == 1_000_000
    cap_logs(tmp_path, CAPS)
    assert log_extents(tmp_path)["count[1]"] == range(1_000_000 - CAPS.most, 1_000_000)
    assert used(tmp_path) == CAPS.most


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_small_disk_logs_leave_room_for_others(small_disk: Path) -> None:
    path = small_disk / "one.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    log = CappedOutput(descriptor, path, Caps(8 * KB * KB, 3))
    for first in range(0, 100_000, 200):
        log.write(numbered(range(first, first + 200)))
        disk = os.statvfs(small_disk)
        assert disk.f_bavail * disk.f_frsize >= 2048 * KB // 20 - LOOK_BYTES - 20_000
    os.close(descriptor)
    extent = log_extents(small_disk)["one"]
    assert read_log(small_disk, "one", extent.start, len(extent)) == numbered(range(100_000))[extent.start :]
    assert len(extent) >= LEFT_BYTES - 100


def test_a_full_disk_leaves_lines_out_and_says_so_later(small_disk: Path) -> None:
    path = small_disk / "one.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    printed = line_writer(CappedOutput(descriptor, path, CAPS))
    print("before", file=printed)
    fill(small_disk / "filler")
    for _ in range(1000):
        print("x" * 99, file=printed)
    (small_disk / "filler").unlink()
    print("after", file=printed)
    os.close(descriptor)
    *_, told, last = path.read_text().splitlines()
    assert told.startswith("… ")
    assert told.endswith(" bytes are left out: there was no room on the disk")
    assert last == "after"


def test_a_log_that_is_gone_is_no_error(tmp_path: Path) -> None:
    cap_log(tmp_path / "none.log", CAPS)
    cap_logs(tmp_path / "nowhere", CAPS)
    assert read_log(tmp_path, "none", 0, 10) == b""
