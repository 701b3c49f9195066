"""Keyed state in columns: arrays of values for keys that come in Arrow columns. Needs the extra `columns`.

Pure: imports only kernel.flow. Begin with key_table.py.
"""
