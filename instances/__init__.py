"""The processes that run spouts and bolts, one task each.

Rooms, each of which imports only those before it: execution/ (the loops that call tasks), acking/ (tuple
trees), input/ (frames in), output/ (emit to frames out), poison/ (tuples that kill their task), saving/
(snapshots and task state), task/ (one task put together, and its turns), process/ (the process around it).
The modules beside the rooms are used by all of them. Imports heronpy's public API and the kernel. Begin with
main.py, then task/build.py.
"""
