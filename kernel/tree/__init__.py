"""The state tree of a topology: where each node is, what is in it, who writes it, and what damage means.

paths.py names every node; the other modules each own one kind of node. Stored through the StateManager
interface of kernel.plugin. Begin with paths.py.
"""
