"""Two small processes and a check that start the scheduler's process again, and each other.

Begin with for_scheduler.py.
"""
