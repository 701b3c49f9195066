"""Why a job of Spark ended, in one line: what Java, Spark and Python wrap around it is left out."""

from __future__ import annotations

import itertools
import re

_LOST_TASK = re.compile(r"Lost task .*?\(TID \d+\) \([^)]*\): (.*)")
#: what begins the text of a Java exception that came through Py4J, and Java's names of exceptions
_WRAPPING = re.compile(r"^(: )?([a-z]\w*\.)+[A-Z]\w*: ")
_HOPELESS = re.compile(r"PYTHON_VERSION_MISMATCH|Cannot run program .*error\W*(2|13)\b")


def reason(text: str) -> str:
    """The line with the reason: the last of a Python stack, the first of a Java stack."""
    lines = list(itertools.takewhile(lambda line: not line.startswith("\tat "), text.strip().splitlines()))
    if not lines:
        return "no reason given"
    if any("Traceback (most recent call last)" in line for line in lines):
        return [line for line in lines if not line.startswith(" ")][-1]
    if lost := _LOST_TASK.search("\n".join(lines)):
        return _WRAPPING.sub("", lost[1])
    wrapped = [line for line in lines if _WRAPPING.match(line)]
    return _WRAPPING.sub("", (wrapped or lines)[0])


def is_hopeless(reason: str) -> bool:
    """Whether no other attempt will do better: the Workers do not have the Python that is asked for."""
    return _HOPELESS.search(reason) is not None
