"""One task: build.py wires the user's component to its input, output and state; spout_task.py
and bolt_task.py run it.

switching.py takes a task through a change of plan. Begin with build.py.
"""
