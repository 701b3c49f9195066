"""Stages of pipelines as spouts and bolts of the engine.

A planned stage becomes a component: its steps run in each of its tasks, so checkpoints, rescaling, restarts
and metrics are the engine's own. Imports heronpy's public package, the planner and the operators; nothing of
the engine's processes. Begin with stage_topology.py.
"""
