"""The data plane without any I/O: frames, batches and signals, credit, links of Stream Managers, key groups.

Pure: imports only kernel.errors and kernel.formats. Begin with frame.py, then signals.py and credit.py; for
keys with keys.py, then column_keys.py, which needs the extra `columns`.
"""
