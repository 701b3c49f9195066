"""What each pipeline in examples/pipelines finds: the golden results that every runner is compared with."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "examples" / "pipelines"

#: example → what the runner `local` prints, in its order; another runner may print the lines in another
PRINTED = {
    "wordcount": [
        "('to', 2)",
        "('be', 2)",
        *(f"('{word}', 1)" for word in ["or", "not", "that", "is", "the", "question"]),
    ],
    "join": [
        "30 euros by Grace",
        "5 euros by Ada",
        "12 euros by Grace",
        "7 euros by an unknown customer",
        "Ada has spent 5 euros",
        "Grace has spent 42 euros",
    ],
    "process": [
        "attic: 20.0 to 29.0, alarm 1",
        "cellar: 12.5 to 18.0, alarm 1",
        "attic: 29.0 to 35.5, alarm 2",
    ],
    "map_async": ["ORCL 174", "AAPL 231", "NVDA 139", "AAPL 231"],
    "aside": [
        "not an order: 'ada twelve' (ValueError: invalid literal for int() with base 10: 'twelve')",
        "ada has spent 12",
        "grace has spent 7",
        "grace has spent 77",
        "ada has spent 25",
        "look at grace: 70 euros at once",
    ],
    "autocompletion": [
        "12:00:30 #her: #hero (3), #heron (2)",
        "12:00:30 #hero: #heron (2)",
        "12:01:00 #heron: #herons (2)",
        "12:01:00 #her: #hero (3), #herons (2)",
        "12:01:00 #hero: #herons (2), #heron (2)",
        "12:01:30 #heron: #herons (2)",
        "12:01:30 #her: #herons (2), #heron (1)",
        "12:01:30 #hero: #herons (2), #heron (1)",
        "12:02:00 #her: #heron (1)",
        "12:02:00 #hero: #heron (1)",
    ],
    "zeitgeist": [
        "12:00:09 eclipse: a spike, 20 instead of 2.0",
        "12:00:13 news: a dip, 0 instead of 5.0",
        "12:00:17 weather: a dip, 0 instead of 4.0",
        "12:00:17 eclipse: a dip, 0 instead of 2.5",
    ],
    "csv_to_sqlite": [],
}

#: what csv_to_sqlite.py writes in place of printing
ZONES = [("airport", 2, 90.5), ("harbour", 2, 23.0)]


def copied(folder: Path) -> Path:
    """The examples with their inputs and without what earlier runs wrote."""
    left_out = shutil.ignore_patterns("__pycache__", "*.db*")
    return shutil.copytree(FOLDER, folder / "pipelines", ignore=left_out)


def zones(folder: Path) -> list[tuple[str, int, float]]:
    """The table in the order of its keys."""
    with closing(sqlite3.connect(folder / "zones.db")) as database:
        return database.execute("SELECT zone, trips, fare FROM zones ORDER BY zone").fetchall()
