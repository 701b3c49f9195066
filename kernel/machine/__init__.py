"""Facts about this machine: processes, sessions, private folders, synced files, addresses of sockets.

Imports the standard library and kernel.errors alone: the bootstrap of a shipped container uses private.py.
"""
