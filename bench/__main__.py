"""Measures heronpy against itself and against its peers.

python -m bench install                    make the environments of the peers, once
python -m bench list                       what can be measured
python -m bench run words --rounds 7       measure a group of figures, or single ones by their key
python -m bench table [FILE…]              the table of RESULTS.md and the pictures, of runs that were written
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.figures import FIGURES, chosen
from bench.peers.environments import ENVIRONMENTS, ROOT, Unavailable
from bench.picture import draw
from bench.rounds import Run, remarks, table, word_table
from bench.sides.catalogue import sides, word_sides

RESULTS = ROOT / "bench" / "results"
#: around what `table --write` puts into RESULTS.md, by name
BEGIN, END = "<!-- {}: python -m bench table --write -->", "<!-- end of {} -->"


def install(asked: argparse.Namespace) -> None:
    for name in asked.peers or ENVIRONMENTS:
        begun = time.monotonic()
        try:
            ENVIRONMENTS[name].install()
        except (Unavailable, subprocess.CalledProcessError) as why:
            print(f"{name}: {why}", flush=True)
        else:
            print(f"{name}: there ({time.monotonic() - begun:.0f} s)", flush=True)


def show_list(asked: argparse.Namespace) -> None:
    del asked
    for group, figures in FIGURES.items():
        print(f"{group}:")
        for figure in figures:
            needed = ", ".join(figure.sides)
            print(f"  {figure.key:22} {figure.title}; goal {figure.goal}  [{needed}]")


def run(asked: argparse.Namespace) -> None:
    figures = chosen([*asked.what, *asked.only])
    if not figures:
        msg = f"there is no figure {' '.join([*asked.what, *asked.only])}; python -m bench list"
        raise SystemExit(msg)
    name = "-".join(asked.what or ["all"]) + ("-quick" if asked.quick else "")
    file = asked.out or RESULTS / f"{name}.json"
    deadline = time.monotonic() + 60 * asked.minutes if asked.minutes else None
    measuring = Run(sides(), figures, file, asked.quick)
    for ending in (signal.SIGINT, signal.SIGTERM):  # also in the background of a shell
        signal.signal(ending, signal.default_int_handler)
    try:
        measuring.measure(1 if asked.quick else asked.rounds, deadline)
    finally:
        measuring.save()
        show([json.loads(file.read_text())])


def show_table(asked: argparse.Namespace) -> None:
    found = [json.loads(file.read_text()) for file in asked.files or RESULTS.glob("*.json")]
    found.sort(key=lambda run: run["began"])
    show(found)
    for picture in draw(found, RESULTS):
        print(f"wrote {picture.relative_to(ROOT)}")
    if asked.write:
        file = ROOT / "bench" / "RESULTS.md"
        text = written(file.read_text(), "figures", f"{table(found)}\n\n{remarks(found)}")
        file.write_text(written(text, "words", word_table(found, word_sides())))


def written(text: str, name: str, part: str) -> str:
    """The text with this part between the marks of its name."""
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"


def show(found: list[dict[str, Any]]) -> None:
    print("\n" + table(found) + "\n\n" + remarks(found))


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    installing = verbs.add_parser("install", help="make the environments of the peers below build/peers")
    installing.add_argument("peers", nargs="*", metavar="PEER", help=", ".join(ENVIRONMENTS))
    installing.set_defaults(verb=install)
    verbs.add_parser("list", help="the figures, by group").set_defaults(verb=show_list)
    running = verbs.add_parser("run", help="measure")
    running.add_argument("what", nargs="*", metavar="GROUP", help=", ".join(FIGURES))
    running.add_argument(
        "--only", action="append", default=[], metavar="KEY", help="this figure; may be repeated"
    )
    running.add_argument("--rounds", type=int, default=7)
    running.add_argument("--minutes", type=float, help="begin no further round after so long")
    running.add_argument("--quick", action="store_true", help="one short round: whether everything works")
    running.add_argument("--out", type=Path, metavar="FILE", help="JSON; else in bench/results")
    running.set_defaults(verb=run)
    tabling = verbs.add_parser("table", help="the table and the pictures of runs")
    tabling.add_argument("--write", action="store_true", help="also into bench/RESULTS.md")
    tabling.add_argument("files", nargs="*", type=Path, metavar="FILE", help="else all in bench/results")
    tabling.set_defaults(verb=show_table)
    asked = parser.parse_args()
    asked.verb(asked)


if __name__ == "__main__":
    main()
