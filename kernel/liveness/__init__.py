"""Whether a process lives: heartbeats in the state tree, silence, the lifeline of an executor.

Begin with silence.py, which is pure.
"""
