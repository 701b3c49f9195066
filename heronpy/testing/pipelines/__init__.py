"""For tests of pipelines: `PipelineTest`, with time, watermarks, crashes and rescaling as data.

`tested_pipeline.py` puts what a test feeds and sees into the graph; `task_places.py` and `stand_in_master.py`
run the tasks of the planned pipeline in this process, with the engine's own checkpoints and changes of plan.
Begin with `pipeline_under_test.py`.
"""
