"""From a pipeline's graph to its plan: passes that each make a graph of a graph, and ways to show the result.

Pure: no I/O, no clock, no engine. Imports heronpy.pipeline's graph and the kernel's errors. Begin with
planning.py.
"""
