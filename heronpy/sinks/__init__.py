"""Bolts that write to files and to SQLite; effectively once, every tuple is there exactly once."""

from __future__ import annotations

from heronpy.sinks.files import FileSink
from heronpy.sinks.sqlite import SQLiteSink

__all__ = ["FileSink", "SQLiteSink"]
