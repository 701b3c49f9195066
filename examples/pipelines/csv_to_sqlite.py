"""A CSV file into a table of SQLite: one row for each zone, which a later run replaces.

Run it in this folder:
    heronpy run csv_to_sqlite.py
    sqlite3 zones.db "SELECT * FROM zones"
"""

from typing import TypedDict

from heronpy import Pipeline
from heronpy.pipeline import agg, sinks, sources


class Trip(TypedDict):
    zone: str
    km: float
    fare: float


p = Pipeline("csv_to_sqlite")
(
    p.read(sources.csv("trips.csv", type=Trip))
    .filter(lambda trip: trip["km"] >= 2)
    .key_by(lambda trip: trip["zone"])
    .aggregate(agg.of(trips=agg.count(), fare=agg.sum(lambda trip: trip["fare"])))
    .map(lambda row: {"zone": row[0], **row[1]})
    .write(sinks.sqlite("zones.db", "zones", key=["zone"]))
)
p.run()
