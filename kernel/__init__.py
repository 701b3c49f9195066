"""The IPC kernel: frames, sockets, reactor, protocol, configuration, plans, plugin registry, Topology Master.

Nothing in here imports a plugin, the Stream Manager, an instance or the command line.
"""
