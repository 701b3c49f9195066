"""The state tree of a topology: where each node is, its value, the process that writes it, and damage.

paths.py names every node; the other modules each own one kind of node. Stored through the StateManager
interface of kernel.plugin. Begin with paths.py.
"""
