"""Packing policies: which instance is in which container, and what an update changes. Pure."""
