"""The executor: the first process of a container, which starts the others and restarts those that die.

Begin with main.py.
"""
