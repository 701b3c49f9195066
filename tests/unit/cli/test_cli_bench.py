"""heronpy bench: a query of NEXMark in one process, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

from heronpy.cli.measuring import word_rate

Heronpy = Callable[..., Result]

#: results of 10,000 events, as the oracles of tests/unit/nexmark find them
RESULTS = {"Q0": 10_000, "Q1": 9_200, "Q2": 22, "Q3": 17, "Q13": 9_200}


@pytest.mark.parametrize("query", RESULTS)
def test_a_query_of_nexmark_is_measured_without_the_time_for_its_events(heronpy: Heronpy, query: str) -> None:
    done = heronpy("bench", "nexmark", query, "--events", "10000", "--generators", "3", "-o", "json")
    assert done.exit_code == 0, done.stderr
    measured = json.loads(done.stdout)
    assert all(measured.pop(figure) > 0 for figure in ("seconds", "cpu_seconds", "generation_seconds"))
    assert measured == {
        "query": query,
        "runner": "local",
        "events": 10_000,
        "generators": 3,
        "results": RESULTS[query],
        "generation": "apart",
    }


def test_a_person_reads_a_line(heronpy: Heronpy) -> None:
    done = heronpy("bench", "nexmark", "q0", "--events", "1_000")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Q0 by local: 1,000 results of 1,000 events in 0.")
    assert done.stdout.count("\n") == 1


def test_columns_without_their_library_are_refused(heronpy: Heronpy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_rate, "COLUMNS", "no_such_library")
    done = heronpy("bench", "words", "--unit", "columns")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "error: words in columns need no_such_library, which is not installed"
        " (try: pip install 'heron-py[columns]')\n"
    )


REFUSED: dict[str, tuple[int, str, str]] = {
    "a benchmark that is not there": (2, "nexmrk Q1", "no benchmark named 'nexmrk'; did you mean 'nexmark'?"),
    "no query": (2, "nexmark", "missing argument 'QUERY' (try: heronpy bench nexmark --help)"),
    "a query that is not there": (2, "nexmark Q33", "NEXMark has no query 'Q33' here; did you mean 'Q3'?"),
    "a query that is like none": (
        2,
        "nexmark wordcount",
        "NEXMark has no query 'wordcount' here"
        " (known: Q0, Q1, Q11, Q12, Q13, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9)",
    ),
    "a runner that is not there": (
        1,
        "nexmark Q1 --runner locla",
        "no runner plugin named 'locla'; did you mean 'local'?",
    ),
    "no events": (
        2,
        "nexmark Q1 --events 0",
        "invalid value for '--events': 0 is not in the range x>=1 (try: heronpy bench nexmark --help)",
    ),
    "no number": (
        2,
        "nexmark Q1 --events many",
        "invalid value for '--events': 'many' is not a valid integer range"
        " (try: heronpy bench nexmark --help)",
    ),
    "more generators than events": (
        2,
        "nexmark Q1 --events 3 --generators 4",
        "4 generators cannot share 3 events (try: --generators 3 or fewer)",
    ),
    "an option of another benchmark": (
        2,
        "--evens 3",
        "no option '--evens'; did you mean '--keys'? (try: heronpy bench words --help)",
    ),
    "a unit that is not there": (
        2,
        "words --unit lines",
        "invalid value for '--unit': 'lines' is not one of 'rows', 'batches', 'columns'"
        " (try: heronpy bench words --help)",
    ),
    "no keys": (
        2,
        "words --keys 0",
        "invalid value for '--keys': 0 is not in the range x>=1 (try: heronpy bench words --help)",
    ),
    "a link that is not there": (
        2,
        "words --link tcp",
        "transport.local must be one of unix, zmq, got 'tcp' (from flag --link)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_measured_is_refused_in_a_line(heronpy: Heronpy, what: str) -> None:
    code, line, error = REFUSED[what]
    done = heronpy("bench", *line.split())
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", f"error: {error}\n")
