"""Files as sources and sinks: lines, JSON lines, CSV, Parquet. Begin with `lines.py`."""
