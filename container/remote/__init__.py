"""Containers on other machines: the package that is shipped to them, uploads, and their start there.

Begin with remote_start.py.
"""
