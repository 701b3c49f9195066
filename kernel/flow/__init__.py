"""The data plane without any I/O: frames, credit, the link between Stream Managers, keys and key groups.

Pure: imports only kernel.errors and kernel.formats. Begin with frame.py, then credit.py.
"""
