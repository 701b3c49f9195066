"""What goes wrong in a pipeline on the engine is one line, or a number in the totals."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running.engine import Engine

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

HEAD = """\
import os
import sys
import threading

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

p = Pipeline("wrong")
"""
#: what is wrong → steps, how the line begins and how it goes on
WRONG = {
    "state that cannot be saved": (
        """\
class Locked:
    def __init__(self):
        self.lock = threading.Lock()

numbers = p.read(sources.rate(100, total=100_000), name="numbers")
numbers.key_by(lambda n: n % 3).process(Locked, lambda s, n, c: [n], name="locked").write(sinks.printed())
""",
        "error: step 'locked' failed at wrong.py:14: its state of class Locked cannot be saved: ",
    ),
    "a record that cannot be sent": (
        """\
numbers = p.read(sources.items([1]), name="numbers").map(lambda n: threading.Lock(), name="locked")
numbers.rebalance().map(str).write(sinks.printed())
""",
        "error: step 'locked' failed at wrong.py:9: a value of type lock cannot be sent: cannot pickle",
    ),
    "a source that cannot be read": (
        """\
p.read(sources.lines(__file__.replace("wrong.py", "latin.txt")), name="text").write(sinks.printed())
""",
        "error: step 'text' failed at wrong.py:9: ",
    ),
    "another pipeline each time": (
        """\
p.read(sources.items([1]), name="numbers").map(str, name=f"shown-{os.getpid()}").write(sinks.printed())
""",
        "error: the file makes another pipeline 'wrong' than was submitted, from 'shown-",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_run_ends_with_one_line(engine: Engine, tmp_path: Path, what: str) -> None:
    steps, line = WRONG[what]
    file = tmp_path / "wrong.py"
    file.write_text(HEAD + steps + "p.run()\n")
    (tmp_path / "latin.txt").write_bytes(b"gut\n\xff\n")
    run = engine.run("run", str(file), "--runner", "engine", "--set", "checkpoint.interval=300ms")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.splitlines()[-1].startswith(line), run.stderr
    assert "Traceback" not in run.stderr
    assert engine.leftovers() == []


def test_a_pipeline_that_tasks_would_not_make_is_refused(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "guarded.py"
    body = "    p = Pipeline('guarded')\n    p.read(sources.items([1])).write(sinks.printed())\n"
    head = HEAD.replace('p = Pipeline("wrong")\n', "")
    file.write_text(f'{head}def main():\n{body}\n\nif __name__ == "__main__":\n    main()\n')
    assert engine.fails("submit", str(file)) == (
        "error: the pipeline 'guarded' is made under `if __name__ == \"__main__\"`, which tasks skip"
        " (try: make it at the top level of guarded.py)\n"
    )


def test_records_that_fail_are_counted_in_the_totals(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        HEAD + "texts = p.read(sources.items(['6', 'x', '1', 'y'] * 50, parts=2), name='texts')\n"
        "numbers = texts.map(int, name='parse', on_error='skip').key_by(lambda n: n)\n"
        "shares = numbers.process(list, lambda s, n, c: [6 // (n - 1)], name='share', on_error='aside')\n"
        "shares.merge(shares.errors.map(lambda failed: failed.record)).write(sinks.printed())\n"
    )
    run = engine.run("run", str(file), "--runner", "engine")
    assert (run.returncode, sorted(run.stdout.split())) == (0, ["1"] * 100)
    assert run.stderr.splitlines()[-1].endswith(
        "; step 'parse' failed for 100 records; step 'share' failed for 50 records"
    )
    assert engine.leftovers() == []
