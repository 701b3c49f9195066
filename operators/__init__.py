"""What the steps of a pipeline do to records, for all runners alike.

Pure: no I/O, no clock, no engine, no planner. Imports heronpy.pipeline, and the kernel's keys and errors.
Begin with stage_logic.py.
"""
