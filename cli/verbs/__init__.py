"""One module for each verb of `heronpy`, with its options, its help and its `command`.

The table VERBS in cli/main.py has a line for each.
"""
