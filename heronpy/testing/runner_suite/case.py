"""A case: steps that a runner must carry, and the results that it must find, in whatever order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from heronpy.pipeline import Pipeline, Stream, sources

T = TypeVar("T")

#: where the results of cases are, in the folder of a run
RESULTS = "results"
#: adds the steps of a case; returns its results unless it has sinks of its own
Build: TypeAlias = "Callable[[CaseSteps], Stream[Any] | None]"


@dataclass(frozen=True)
class SuiteRun:
    """What a run of the suite has left."""

    folder: Path
    stdout: str

    def results(self, case: str) -> Iterator[str]:
        """The results of a case, as `repr` shows them."""
        for file in sorted((self.folder / RESULTS).glob("*.jsonl")):
            for line in file.read_text().splitlines():
                of, shown = json.loads(line)
                if of == case:
                    yield shown


@dataclass(frozen=True)
class Case:
    """What a runner must carry. Without `build`, its steps are in the user's file."""

    name: str
    build: Build | None
    #: each result as often as it is there; None if it has no end, so that only its refusal can be tested
    expected: tuple[Any, ...] | None
    #: what the runner may not have: see RunnerContract.refuses
    needs: str = ""
    #: finds the results in sinks of its own
    look: Callable[[SuiteRun], Iterable[Any]] | None = None

    def __str__(self) -> str:
        return self.name

    def wanted(self) -> Counter[str]:
        """The results that it has to have, as `repr` shows them."""
        return Counter(map(repr, self.expected or ()))

    def found(self, run: SuiteRun) -> Counter[str]:
        """The results that it has."""
        return Counter(run.results(self.name) if self.look is None else map(repr, self.look(run)))


@dataclass(frozen=True)
class CaseSteps:
    """What a case is built with: one pipeline for all, names of its own for its steps."""

    p: Pipeline
    case: str
    #: for sinks of its own
    folder: Path
    #: how many values a hot key has
    hot_values: int

    def name(self, word: str) -> str:
        """A name for a step of this case."""
        return f"{self.case}.{word}"

    def read(self, values: Iterable[T], word: str = "read", *, parts: int = 1) -> Stream[T]:
        """The values as a stream; those of one part keep their order."""
        return self.p.read(sources.items(values, parts=parts), name=self.name(word))


class CaseBook:
    """The cases of one module, in the order in which they are written."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def case(
        self,
        expected: Iterable[Any] | None,
        *,
        needs: str = "",
        look: Callable[[SuiteRun], Iterable[Any]] | None = None,
    ) -> Callable[[Build], Build]:
        """Enters a function as a case, under its own name."""
        results = None if expected is None else tuple(expected)

        def enter(build: Build) -> Build:
            self.cases.append(Case(build.__name__, build, results, needs, look))
            return build

        return enter
