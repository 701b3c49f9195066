"""What the components of running topologies print and log, line by line as it comes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

from heronpy.cli.reading.log_tail import GAP, LogFollower, Logs
from heronpy.kernel.machine.addresses import TASKS
from heronpy.stages.printing import BLOCK

#: a line of the instance's logging, as container/processes/child.py formats it
_LOGGED = re.compile(r"[-\d]{10} [:,\d]{12} (?P<level>[A-Z]+) \[(?P<logger>\S+)\] (?P<text>.*)")
#: the log of the tasks of a container that share a process
_FUSED = re.compile(rf"{TASKS}-\d+")


class OutputLine(NamedTuple):
    """A record that a pipeline prints, what a component of a topology prints, or a note beside either."""

    text: str
    kind: Literal["record", "output", "note"]


class ComponentOutput:
    """Follows the logs of the tasks of one topology from their beginning.

    With `printing`, the topology is a pipeline, and these components print its records.
    """

    def __init__(self, logs: Logs, printing: Collection[str] | None = None) -> None:
        self._logs, self._printing = logs, printing
        self._followers: dict[str, LogFollower] = {}
        self._blocks: dict[str, _Blocks] = {}
        #: tasks of whose records a part was gone before it was read
        self.gaps: set[str] = set()
        self._shown: set[str] = set()

    def new_lines(self) -> Iterator[OutputLine]:
        """What came since the last call; what is no record stands behind its task: "count[1] | heron 12"."""
        for task, extent in sorted(self._logs.extents().items()):
            if not (task.endswith("]") or _FUSED.fullmatch(task)):
                continue  # of a manager, not of a component
            follower = self._followers.setdefault(task, LogFollower(self._logs, task))
            lines = follower.new_lines(extent)
            if self._prints(task):
                blocks = self._blocks.setdefault(task, _Blocks(self._shown, self.gaps))
                yield from (shown for line in lines if (shown := blocks.line(task, line)) is not None)
            else:
                yield from (shown for line in lines if (shown := self._plain(task, line)) is not None)

    def _prints(self, task: str) -> bool:
        """Whether records may be in a log: of a component that prints them, or of all tasks in a process."""
        printing = self._printing or ()
        return task.rpartition("[")[0] in printing or bool(printing and _FUSED.fullmatch(task))

    def _plain(self, task: str, line: str) -> OutputLine | None:
        text = _as_shown(line)
        kind: Literal["output", "note"] = "output" if self._printing is None else "note"
        return None if text is None else OutputLine(f"{task} | {text}", kind)


class _Blocks:
    """The blocks of a task that prints records; each is shown once, also if another task prints it again."""

    def __init__(self, shown: set[str], gaps: set[str]) -> None:
        self._shown, self._gaps = shown, gaps
        self._left = 0
        self._again = False

    def line(self, task: str, line: str) -> OutputLine | None:
        if GAP.fullmatch(line):
            self._gaps.add(task)
            self._left = 0
            return OutputLine(f"{task} | {line}", "note")
        if self._left:
            self._left -= 1
            return None if self._again else OutputLine(line, "record")
        head = BLOCK.fullmatch(line)
        if head is not None:
            self._left, self._again = int(head["lines"]), head["name"] in self._shown
            self._shown.add(head["name"])
            return None
        text = _as_shown(line)
        return None if text is None else OutputLine(f"{task} | {text}", "note")


def _as_shown(line: str) -> str | None:
    """Without time and logger; None for what the engine itself notes, unless that is an error."""
    logged = _LOGGED.fullmatch(line)
    if logged is None:
        return line
    level, text = logged["level"], logged["text"]
    if logged["logger"].startswith("heronpy.") and level != "ERROR":
        return None
    return text if level == "INFO" else f"{level} {text}"
