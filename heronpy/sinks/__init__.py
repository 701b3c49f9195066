"""Bolts that write to files and to SQLite; with effectively once, each tuple is written exactly once."""

from __future__ import annotations

from heronpy.sinks.files import FileSink
from heronpy.sinks.sqlite import SQLiteSink

__all__ = ["FileSink", "SQLiteSink"]
