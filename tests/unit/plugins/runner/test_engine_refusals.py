"""The runner `engine` names what it cannot carry, before anything starts."""

from __future__ import annotations

import pytest

from heronpy import Pipeline
from heronpy.kernel.plugin import UnsupportedOnRunner
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.stages.found_pipeline import PlannedPipeline
from heronpy.stages.stage_topology import topology_of


def test_a_list_in_another_process_is_refused_by_name() -> None:
    p = Pipeline("clicks")
    timed = p.read(sources.items([1])).event_time(lambda n: n, unit="s", lag="0s")
    timed.window(tumbling("1m")).count().write(sinks.collected(), name="kept")
    with pytest.raises(UnsupportedOnRunner) as refused:
        topology_of(PlannedPipeline(p), cores=2)
    assert (refused.value.feature, refused.value.step) == ("sinks.collected", "kept")
    assert str(refused.value).endswith("(try: --runner local, or write to files or SQLite)")
