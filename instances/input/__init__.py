"""Frames on their way in: checks, the queue, credit for what was done, alignment of barriers.

Begin with inflow.py.
"""
