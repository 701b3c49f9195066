"""Schedules of disks in a process of their own: what to run comes in as JSON, outcomes go out."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import msgspec
import pytest
from support.simulation.disk_mutants import DISK_MUTANTS
from support.simulation.disk_run import DiskOutcome, Share, run_disk_schedule


def shown(library: Path, name: str, seeds: list[int]) -> DiskOutcome:
    """The first outcome that an oracle complains about, or the last."""
    with pytest.MonkeyPatch.context() as patch:
        DISK_MUTANTS[name].patch(patch)
        for seed in seeds:
            outcome = run_disk_schedule(seed, library)
            if outcome.failures:
                break
    outcome.mutant = name
    return outcome


if __name__ == "__main__":
    logging.getLogger("heronpy").addHandler(logging.NullHandler())  # it would tell of the very faults we make
    share = msgspec.json.decode(sys.stdin.buffer.read(), type=Share)
    library = Path(share.library)
    outcomes = [run_disk_schedule(seed, library) for seed in share.seeds]
    outcomes += [shown(library, name, seeds) for name, seeds in share.mutants.items()]
    sys.stdout.buffer.write(msgspec.json.encode(outcomes))
