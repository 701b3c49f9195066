"""The pipeline that a runner is given: cases side by side, with one sink for their results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from heronpy.pipeline import Pipeline, Stream, sinks
from heronpy.testing.runner_suite.case import RESULTS, Case, CaseSteps


class SuitePipeline:
    """Puts cases into a pipeline, so that one run, with one start of servers or processes, checks all."""

    def __init__(self, p: Pipeline, folder: str, *, hot_values: int) -> None:
        self._p, self._folder, self._hot_values = p, Path(folder), hot_values
        self._results: list[Stream[tuple[str, str]]] = []

    def steps(self, case: str) -> CaseSteps:
        """What a case is built with."""
        return CaseSteps(self._p, case, self._folder, self._hot_values)

    def build(self, cases: Iterable[Case]) -> None:
        """Put in all those whose steps are not in the user's file."""
        for case in cases:
            if case.build is not None and (results := case.build(self.steps(case.name))) is not None:
                self.add(case.name, results)

    def add(self, case: str, results: Stream[Any]) -> None:
        """The stream of a case's results."""
        self._results.append(results.map(lambda result: (case, repr(result)), name=f"{case}.shown"))

    def write(self) -> None:
        """When all cases are in: a sink for their results, and one for those that have event time."""
        timed = [results for results in self._results if results.timed]
        untimed = [results for results in self._results if not results.timed]
        for name, (first, *others) in ((n, s) for n, s in (("", untimed), ("-timed", timed)) if s):
            target = sinks.files(self._folder / RESULTS, format="json")
            first.merge(*others, name=f"results{name}").write(target, name=f"write{name}", par=1)
