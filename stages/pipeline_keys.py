"""What the verbs know of a component that is a stage of a pipeline: keys of its config, metrics."""

from __future__ import annotations

from typing import Final

#: the pipeline, the stage, and the steps of the stage as they were submitted
PIPELINE: Final = "pipeline.name"
STAGE: Final = "pipeline.stage"
STEPS: Final = "pipeline.steps"
#: the pipeline itself, if it travels by value; of the topology, so that it does so once
TRAVELS: Final = "pipeline.by_value"
#: whether its source has an end
BOUNDED: Final = "pipeline.bounded"
#: whether it prints records, which `heronpy run` shows
PRINTS: Final = "pipeline.prints"

#: metric of records that were skipped or set aside, by step
FAILED: Final = "failed_records"
#: metric of records that came too late for their windows, by step
LATE_DROPPED: Final = "late_dropped"
