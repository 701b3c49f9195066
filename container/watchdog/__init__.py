"""What starts the scheduler process again: the executor of container 0, or a process of its own.

Begin with scheduler_watch.py.
"""
