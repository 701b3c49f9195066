"""A process that logs one error after the other: its log has a cap, and room for other lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from heronpy.kernel.logs.log_rotation import log_parts

PROGRAM = """
import logging, sys
from heronpy.container.processes.child import configure_logging
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.config import load_config

config = load_config(flags={"log.max_bytes": "64KB", "log.files": "2"})
configure_logging(TopologyLaunch("words", "x", config.to_plain(), sys.argv[1], ""))
for number in range(5000):
    logging.getLogger("count[1]").error("no such word: %d", number)
for number in range(500):
    logging.getLogger("heronpy.container").error("metric sink number %d failed", number)
"""


def test_errors_without_end_stay_below_the_cap_and_repeated_ones_are_few(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "count[1].log"
    path.parent.mkdir()
    with path.open("ab") as log:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        subprocess.run(command, stdout=log, stderr=log, check=True, timeout=60)
    parts = log_parts(path)
    assert len(parts) == 2
    # a process looks at the size of its log before it writes, once in a quarter of the cap
    assert sum(part.size for part in parts) < 2 * 64 * 1024 * 1.25
    assert parts[0].first > 0, "older parts are gone"
    written = path.read_text().splitlines()
    assert sum("no such word" in line for line in written) > 0
    assert [line for line in written if "metric sink" in line][-1].endswith("metric sink number 19 failed")
