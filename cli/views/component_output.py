"""What the components of running topologies print and log, line by line as it comes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from heronpy.cli.reading.log_tail import LogFollower, Logs

#: a line of the instance's logging, as container/processes/child.py formats it
_LOGGED = re.compile(r"[-\d]{10} [:,\d]{12} (?P<level>[A-Z]+) \[(?P<logger>\S+)\] (?P<text>.*)")


class ComponentOutput:
    """Follows the logs of the tasks of one topology from their beginning."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._followers: dict[str, LogFollower] = {}

    def new_lines(self) -> Iterator[str]:
        """What came since the last call, each line behind its task: "count[1] | heron 12"."""
        for task, extent in sorted(self._logs.extents().items()):
            if not task.endswith("]"):
                continue  # of a manager, not of a component
            follower = self._followers.setdefault(task, LogFollower(self._logs, task))
            for line in follower.new_lines(extent):
                shown = _as_shown(line)
                if shown is not None:
                    yield f"{task} | {shown}"


def _as_shown(line: str) -> str | None:
    """Without time and logger; None for what the engine itself notes, unless that is an error."""
    logged = _LOGGED.fullmatch(line)
    if logged is None:
        return line
    level, text = logged["level"], logged["text"]
    if logged["logger"].startswith("heronpy.") and level != "ERROR":
        return None
    return text if level == "INFO" else f"{level} {text}"
