"""One task: the user's component wired to its input, output and state, and its turns.

build.py does the wiring, spout_task.py and bolt_task.py have the turns, switching.py takes a task through a
change of plan. Begin with build.py.
"""
