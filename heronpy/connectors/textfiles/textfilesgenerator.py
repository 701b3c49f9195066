"""A generator of the lines of text files."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Iterator

from heronpy.streamlet.context import Context
from heronpy.streamlet.generator import Generator


class TextFileGenerator(Generator):
    """The lines, with their ends, of the files that match a pattern when the streamlet is written.

    Each partition has every so-many-th file. Its state is how many lines it has given.
    """

    def __init__(self, filepattern: str) -> None:
        self._files = sorted(glob.glob(filepattern))

    def setup(self, context: Context) -> None:
        mine = self._files[context.get_partition_index() :: context.get_num_partitions()]
        self._state = context.get_state()
        self._given: int = self._state.get("lines", 0)
        self._lines = itertools.islice(_lines_of(mine), self._given, None)

    def get(self) -> str | None:
        line = next(self._lines, None)
        if line is not None:
            self._given += 1
            self._state.put("lines", self._given)
        return line


def _lines_of(files: list[str]) -> Iterator[str]:
    for file in files:
        with open(file) as lines:
            yield from lines
