"""What runs in a task of a pipeline's stage: a spout, a bolt or a sink with the steps of the stage in it.

Imports the rooms of heronpy.stages beside it. Begin with stage_task.py.
"""
