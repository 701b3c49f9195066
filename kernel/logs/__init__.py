"""Logs: files that do not outgrow the disk, reading them from other machines, rate-limited lines.

Begin with log_file.py.
"""
