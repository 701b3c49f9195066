"""The IPC kernel: what every process of a topology shares, and the Topology Master.

flow/ is the data plane (frames, credit, links, keys); transport/ and protocol/ are sockets and control
messages; tree/ is the state tree; plans/, config/, checkpoints/ and plugin/ are what their names say;
liveness/, machine/ and logs/ serve all of them. Imports nothing of heronpy outside the kernel.
Begin with flow/frame.py for data and tree/paths.py for control.
"""
