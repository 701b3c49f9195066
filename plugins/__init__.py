"""The built-in plugins, one folder for each kind, found through the same entry points as any other.

A plugin implements an interface of kernel.plugin; the `hooks.py` of its folder announces it. Imports the
kernel alone. Begin with kernel/plugin/hookspecs.py and docs/plugin-tutorial.md.
"""
