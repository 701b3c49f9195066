"""Starting a topology: load, pack, write the state tree, ship, start, wait; in the foreground, too.

Begin with submission.py.
"""
