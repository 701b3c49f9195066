"""The runner `engine` names what it cannot carry, before anything starts."""

from __future__ import annotations

import pytest

from heronpy import Pipeline
from heronpy.kernel.plugin import UnsupportedOnRunner
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.stages.found_pipeline import PlannedPipeline
from heronpy.stages.stage_topology import topology_of


def test_windows_and_event_time_are_refused_by_name() -> None:
    p = Pipeline("clicks")
    timed = p.read(sources.items([1])).event_time(lambda n: n, unit="s", lag="0s", name="timed")
    timed.write(sinks.printed())
    with pytest.raises(UnsupportedOnRunner) as refused:
        topology_of(PlannedPipeline(p), cores=2)
    assert (refused.value.feature, refused.value.step) == ("event time", "timed")
    timed.window(tumbling("1m")).count(name="counts").write(sinks.printed())
    with pytest.raises(UnsupportedOnRunner) as refused:
        topology_of(PlannedPipeline(p), cores=2)
    assert (refused.value.feature, refused.value.step) == ("windows", "counts")
    assert str(refused.value).endswith("(try: --runner local)")
