"""What calls the tasks of a process: the answers of a turn, and the loops that act on them.

Imports nothing of the other rooms, so that a loop knows tasks only as what takes turns. Begin with `turn.py`;
`one_task.py` and `many_tasks.py` are the loops, `memory_links.py` what tasks of one loop send frames through.
"""
