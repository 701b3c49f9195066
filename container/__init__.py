"""Containers and what keeps them alive, on this machine and on others.

executor/ is the first process of a container, processes/ how it starts children, scheduler/ the process
that hosts the scheduler plugin, watchdog/ what starts that one again, remote/ what a container on another
machine needs, metrics_manager/ the process that feeds metric sinks. Imports the kernel alone; roles are
named as strings in processes/roles.py. Begin with executor/main.py.
"""
