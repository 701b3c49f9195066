"""A run: rounds in which every side is measured once, by turns; figures of the pairs of each round."""

from __future__ import annotations

import datetime
import json
import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.arithmetic import machine, noise, spread
from bench.figures import Figure
from bench.hiccups import VOID, Hiccups
from bench.histogram import Histogram
from bench.peers.environments import ROOT, Unavailable
from bench.sides import Side


class Run:
    """Measures, prints as it goes, and keeps everything as JSON: also what was measured before a failure."""

    def __init__(self, sides: Mapping[str, Side], figures: Sequence[Figure], file: Path, quick: bool) -> None:
        self._figures, self._file, self._quick = figures, file, quick
        named = {name for figure in figures for name in figure.sides}
        self._left_out: dict[str, str] = {}
        # in the order in which they are given: what is compared is near, and twins are far from each other
        self._sides = [side for side in sides.values() if side.name in named and self._is_possible(side)]
        self._rounds: list[dict[str, dict[str, float]]] = []
        self._hiccups: list[dict[str, float]] = []
        self._loads: list[float] = []
        self._histograms: dict[str, Histogram] = {}
        self._facts: dict[str, object] = {}
        self._failures: list[str] = []
        self._began, self._commit = time.time(), _commit()

    def _is_possible(self, side: Side) -> bool:
        try:
            side.prepare()
        except Unavailable as why:
            self._left_out[side.name] = str(why)
            print(f"left out: {side.name}: {why}", flush=True)
            return False
        return True

    def measure(self, rounds: int, deadline: float | None = None) -> None:
        """The order turns round in every other round, so that drift hits all alike."""
        print(f"{machine()}; {len(self._sides)} sides, {rounds} rounds", flush=True)
        for number in range(rounds):
            if deadline is not None and time.monotonic() > deadline:
                print("the time is up", flush=True)
                break
            order = self._sides if number % 2 == 0 else self._sides[::-1]
            self._loads.append(os.getloadavg()[0])
            with Hiccups() as control:
                self._rounds.append({})
                for side in order:
                    self._measure(side, number)
            self._hiccups.append(control.histogram.summary())
            self.save()

    def _measure(self, side: Side, number: int) -> None:
        begun = time.monotonic()
        try:
            sample = side.run(self._quick)
        except Exception as failure:  # the others go on, and the failure is printed with them
            self._failures.append(f"{side.name}, round {number + 1}: {type(failure).__name__}: {failure}")
            print(self._failures[-1], flush=True)
            return
        self._rounds[-1][side.name] = sample.values
        if sample.histogram is not None:
            self._histograms.setdefault(side.name, Histogram()).merge(sample.histogram)
        if sample.facts is not None:
            self._facts[side.name] = sample.facts
        shown = ", ".join(f"{key} {value:,.4g}" for key, value in sample.values.items())
        print(f"[{number + 1}] {side.name}: {shown} ({time.monotonic() - begun:.0f} s)", flush=True)

    def save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text(json.dumps(self.to_plain(), indent=1, ensure_ascii=False) + "\n")
        unfinished.replace(self._file)

    def to_plain(self) -> dict[str, Any]:
        return {
            "commit": self._commit,
            "began": datetime.datetime.fromtimestamp(self._began, datetime.UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - self._began),
            "machine": machine(),
            "quick": self._quick,
            "loads": self._loads,
            "hiccups": self._hiccups,
            "rounds": self._rounds,
            "histograms": {name: each.to_plain() for name, each in self._histograms.items()},
            "facts": self._facts,
            "left out": self._left_out,
            "failures": self._failures,
            "figures": {figure.key: _figure(figure, self._rounds) for figure in self._figures},
        }


def _figure(figure: Figure, rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    values, twins = figure.values(rounds), figure.noise(rounds)
    return {
        "title": figure.title,
        "values": values,
        "median": statistics.median(values) if values else None,
        "twins": twins,
        "twins of": figure.borrowed,
        "goal": str(figure.goal),
        "verdict": figure.goal.verdict(values, twins),
    }


def _commit() -> str:
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    return subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """The figures of one or several runs, as RESULTS.md has them; a later run wins."""
    rows: dict[str, tuple[str, ...]] = {}
    for run in found:
        for key, figure in run["figures"].items():
            if not figure["values"]:
                rows.setdefault(key, (figure["title"], figure["goal"], "not measured", "", ""))
                continue
            itself = f"{spread(figure['twins'])}, ± {noise(figure['twins']):.0%}" if figure["twins"] else "-"
            if borrowed := figure.get("twins of"):
                itself = f"{borrowed}: {itself}"
            verdict = "" if figure["goal"] == "-" else figure["verdict"]
            rows[key] = (figure["title"], figure["goal"], spread(figure["values"]), itself, verdict)
    head = [
        "| | at least; aim | median (smallest to largest) | the same against itself | |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows.values())])


def word_table(found: Sequence[Mapping[str, Any]], sides: Sequence[str]) -> str:
    """What these sides gave by themselves in the run that had most of them, the cheapest word last."""
    samples: dict[str, list[Mapping[str, float]]] = {}
    for run in found:
        every = {name: [each[name] for each in run["rounds"] if name in each] for name in sides}
        measured = {name: values for name, values in every.items() if values}
        if len(measured) >= len(samples):  # not of several runs: machines differ
            samples = measured
    rows = []
    for name, given in samples.items():
        rate, cpu = (statistics.median(each[what] for each in given) for what in ("rate", "cpu"))
        rows.append((cpu, f"| {name} | {rate:,.0f} | {1000 * cpu:,.0f} | {len(given)} |"))
    rows.sort(key=lambda row: row[0], reverse=True)
    head = ["| side | words/s | CPU-nanoseconds per word, all processes | n |", "|---|---|---|---|"]
    return "\n".join([*head, *(line for _, line in rows)])


def remarks(found: Sequence[Mapping[str, Any]]) -> str:
    """What a reader must know beside the table."""
    lines = []
    for run in found:
        worst = max((each["p99.9"] for each in run["hiccups"]), default=0.0)
        loads = f"load {min(run['loads']):.1f} to {max(run['loads']):.1f}" if run["loads"] else "no round"
        lines.append(
            f"- {run['began']}, {run['commit']}, {run['machine'].partition(', load')[0]}: {loads},"
            f" {run['seconds']} s;"
            f" hiccups p99.9 up to {worst / 1000:.1f} ms" + (": tails are void" if worst > VOID else "")
        )
        if versions := _versions(run["facts"]):
            lines[-1] += "; " + ", ".join(f"{name} {version}" for name, version in versions.items())
        lines += [f"- left out: {name}: {why}" for name, why in run["left out"].items()]
        lines += [f"- failed: {failure}" for failure in run["failures"]]
    return "\n".join(lines)


def _versions(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Of all that the sides have named."""
    found: dict[str, str] = {}
    for each in facts.values():
        found.update(each.get("versions", {}))
    return found
