"""The process that hosts a topology's scheduler plugin, and how other processes see it.

scheduler_host.py starts it and is its main; scheduler_loop.py feeds the plugin. Begin with scheduler_host.py.
"""
