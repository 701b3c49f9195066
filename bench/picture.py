"""Pictures of a run, as plain SVG: bars with their spread and goals, and percentiles of latencies."""

from __future__ import annotations

import html
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.histogram import Histogram

WIDTH, LABEL, ROW = 1160, 500, 26
INK, PALE, BAR, GOAL, MISSED, OPEN = "#1f2430", "#d9dde5", "#3b7dd8", "#111111", "#d97706", "#8a93a3"
COLOURS = {"met": BAR, "missed": MISSED, "undecided": OPEN, "not measured": BAR}
PALETTE = ("#3b7dd8", "#c2410c", "#15803d", "#7c3aed", "#b45309", "#0f766e", "#be185d", "#475569")
#: shares of all tuples beyond which a percentile lies: the axis of latencies
NINES = (0.5, 0.1, 0.01, 0.001, 0.0001)


def draw(found: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Both pictures of these runs, a later run winning."""
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Mapping[str, Any]] = {}
    latencies: dict[str, Histogram] = {}
    for run in found:
        figures |= {key: each for key, each in run["figures"].items() if each["values"]}
        latencies |= {name: Histogram.from_plain(each) for name, each in run["histograms"].items()}
    written = []
    for name, picture in (("figures.svg", bars(figures.values())), ("latency.svg", percentiles(latencies))):
        if picture:
            (folder / name).write_text(picture)
            written.append(folder / name)
    return written


def bars(figures: Iterable[Mapping[str, Any]]) -> str:
    """A bar for the median, a line from the smallest to the largest, a mark at the goal; logarithmic."""
    every = list(figures)
    if not every:
        return ""
    goals = [_goal(each["goal"]) for each in every]
    numbers = [value for each in every for value in each["values"] if value > 0]
    numbers += [goal for goal in goals if goal]
    low, high = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)) + 0.01)

    def place(value: float) -> float:
        share = (math.log10(max(value, 10.0**low)) - low) / (high - low)
        return LABEL + share * (WIDTH - LABEL - 120)

    parts, height = [], 60 + ROW * len(every)
    for power in range(low, high + 1):
        parts.append(_line(place(10.0**power), 34, place(10.0**power), height - 16, PALE))
        parts.append(_text(place(10.0**power), 28, f"{10.0**power:g}", "middle"))
    for number, (each, goal) in enumerate(zip(every, goals, strict=True)):
        parts += _bar(44 + ROW * number, each, goal, place)
    title = "medians of paired rounds, smallest to largest; black mark: the goal"
    meaning = "blue: met, or no goal; orange: missed; grey: undecided"
    return _picture(height, [_text(10, 16, title, "start"), _text(10, 32, meaning, "start"), *parts])


def _bar(top: float, each: Mapping[str, Any], goal: float | None, place: Any) -> list[str]:
    values, middle = each["values"], statistics.median(each["values"])
    colour, zero = COLOURS[each["verdict"]], place(0)
    length = max(place(middle) - zero, 1)
    parts = [
        _text(LABEL - 8, top + 13, each["title"], "end"),
        f'<rect x="{zero:.1f}" y="{top}" width="{length:.1f}" height="16" fill="{colour}"/>',
        _line(place(min(values)), top + 8, place(max(values)), top + 8, INK),
        _text(place(max(max(values), goal or 0)) + 6, top + 13, f"{middle:.3g}", "start"),
    ]
    if goal:
        parts.append(_line(place(goal), top - 3, place(goal), top + 19, GOAL, 3))
    return parts


def percentiles(latencies: Mapping[str, Histogram]) -> str:
    """A line for each side: percentile by the number of nines, microseconds on a logarithmic scale."""
    if not latencies:
        return ""
    height, left, right, bottom = 480, 80, WIDTH - 220, 430
    largest = max(each.percentile(99.99) for each in latencies.values())
    smallest = min(max(each.percentile(50), 1.0) for each in latencies.values())
    low, high = math.floor(math.log10(smallest)), math.ceil(math.log10(max(largest, 10.0)) + 0.01)

    def across(share: float) -> float:
        return left + (right - left) * (-math.log10(share) + math.log10(0.5)) / (math.log10(0.5) + 4)

    def up(micros: float) -> float:
        return bottom - (bottom - 50) * (math.log10(max(micros, 10.0**low)) - low) / (high - low)

    parts = [_text(10, 20, "latency since a tuple was due, microseconds, by percentile", "start")]
    for power in range(low, high + 1):
        parts += [
            _line(left, up(10.0**power), right, up(10.0**power), PALE),
            _text(left - 8, up(10.0**power) + 4, f"{10.0**power:,.0f}", "end"),
        ]
    for share in NINES:
        parts.append(_text(across(share), bottom + 22, f"p{100 * (1 - share):g}", "middle"))
    for number, (name, each) in enumerate(latencies.items()):
        colour = PALETTE[number % len(PALETTE)]
        shown = [share for share in NINES if each.total * share >= 10] or [0.5]
        points = " ".join(
            f"{across(share):.1f},{up(each.percentile(100 * (1 - share))):.1f}" for share in shown
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(right + 16, 60 + 20 * number, f"{name} (n={each.total:,})", "start", colour))
    return _picture(height, parts)


def _goal(text: str) -> float | None:
    first = text.partition(";")[0].removeprefix("≤ ")
    return None if first == "-" else float(first)


def _text(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{html.escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{colour}" stroke-width="{width}"/>'


def _picture(height: float, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}"'
        ' font-family="sans-serif" font-size="12">'
    )
    ground = f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])
