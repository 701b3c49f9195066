"""Checkpoints: decide.py says when one begins and is complete, act.py writes nodes and manifests."""
