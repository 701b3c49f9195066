"""Effectively once: decide.py says when a new run must begin, act.py begins it with a checkpoint."""
