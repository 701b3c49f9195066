"""The process around a task: its lifecycle, the control thread, the socket, joining a running topology.

Begin with lifecycle.py.
"""
