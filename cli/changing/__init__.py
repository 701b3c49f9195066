"""Changing a running topology: updates, planned restarts, runtime config, pausing, going back.

Begin with proposal.py.
"""
