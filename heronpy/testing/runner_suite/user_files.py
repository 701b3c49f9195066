"""The files that a run of the suite is given, as a user would write them, and the cases that are in them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from heronpy.testing.runner_suite.case import Case

_HEAD = '''\
"""Cases of heronpy.testing.runner_suite, as a user's file."""

from heronpy import Pipeline
from heronpy.testing.runner_suite import CASES, SuitePipeline

p = Pipeline("runner-suite")
suite = SuitePipeline(p, {folder!r}, hot_values={hot_values})
suite.build(CASES[name] for name in {names!r})
'''

_OWN = '''

from dataclasses import dataclass

import beside

limit = 3
t = suite.steps("lambda_closes_over_its_file")
suite.add(t.case, t.read(range(5)).filter(lambda n: n < limit))


@dataclass
class Tally:
    """Its objects are records, and the state of a key."""

    letter: str
    count: int = 0


def tallied(state, tally, context):
    state.count += tally.count
    yield Tally(context.key, state.count)


t = suite.steps("class_of_the_file")
tallies = t.read("abcab").map(lambda letter: Tally(letter, 10)).rebalance()
by_letter = tallies.key_by(lambda tally: tally.letter)
sums = by_letter.process(lambda: Tally("state"), tallied, name=t.name("process"))
suite.add(t.case, sums.map(lambda tally: (type(tally).__name__, tally.letter, tally.count)))

t = suite.steps("module_beside_the_file")
suite.add(t.case, t.read([1, 2]).map(beside.doubled).key_by(beside.key).dedup(name=t.name("dedup")))

called = []


def noted(n):
    called.append(n)
    return n


t = suite.steps("nothing_is_called_while_it_is_built")
stream = t.read([1, 2]).map(noted)
when_built = len(called)
suite.add(t.case, stream.map(lambda n: (n, when_built)))
'''

_TAIL = """
suite.write()
p.run()
"""

_BESIDE = '''\
"""A module beside the user's file."""


def doubled(n):
    return 2 * n


def key(n):
    return f"key {n}"
'''

_USER_ERROR = """\
from heronpy import Pipeline
from heronpy.pipeline import sinks, sources


def share(n):
    return 6 // n  # here it fails


p = Pipeline("user-error")
numbers = p.read(sources.items([3, 2, 0, 1]), name="numbers").filter(lambda n: n < 3)
numbers.map(share, name="share").map(str).write(sinks.files({folder!r}))
p.run()
"""

_UNKEYABLE = """\
from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

p = Pipeline("unkeyable")
words = p.read(sources.items(["to", "be"]), name="words")
words.key_by(lambda word: [word], name="letters").count(name="count").write(sinks.files({folder!r}))
p.run()
"""

#: those whose steps are in the file
OWN_CASES = [
    Case("lambda_closes_over_its_file", None, (0, 1, 2)),
    Case(
        "class_of_the_file",
        None,
        tuple(("Tally", letter, count) for letter, count in zip("abcab", (10, 10, 10, 20, 20), strict=True)),
    ),
    Case("module_beside_the_file", None, (2, 4)),
    Case("nothing_is_called_while_it_is_built", None, ((1, 0), (2, 0))),
]


def write_suite(place: Path, folder: Path, names: Iterable[str], hot_values: int) -> Path:
    """A file with these cases and those of its own, and a module beside it; results go to `folder`."""
    (place / "beside.py").write_text(_BESIDE)
    head = _HEAD.format(folder=str(folder), names=list(names), hot_values=hot_values)
    return _written(place / "cases.py", head + _OWN + _TAIL)


def write_case(place: Path, folder: Path, name: str) -> Path:
    """A file with one case."""
    head = _HEAD.format(folder=str(folder), names=[name], hot_values=1)
    return _written(place / "one_case.py", head + _TAIL)


def write_user_error(place: Path, folder: Path) -> Path:
    """A file with a step whose function raises for one record."""
    return _written(place / "user_error.py", _USER_ERROR.format(folder=str(folder)))


def write_unkeyable(place: Path, folder: Path) -> Path:
    """A file with keys that cannot be keys."""
    return _written(place / "unkeyable.py", _UNKEYABLE.format(folder=str(folder)))


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file
