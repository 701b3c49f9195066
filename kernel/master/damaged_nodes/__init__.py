"""Damaged nodes of a predecessor: decide.py says what can be rebuilt from what, act.py writes it."""
