"""SQLite as a sink. Begin with `database.py`."""
