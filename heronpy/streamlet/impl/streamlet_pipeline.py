"""The pipeline that streamlets become."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heronpy.constants import TOPOLOGY_KEY_GROUPS, TOPOLOGY_RELIABILITY_MODE, TopologyReliabilityMode
from heronpy.pipeline.graph import Graph, Site
from heronpy.pipeline.pipeline import Guarantee, Pipeline
from heronpy.pipeline.streams import Stream
from heronpy.streamlet.impl.checks import refuse_unless
from heronpy.streamlet.impl.partitions import Partitions
from heronpy.streamlet.impl.streamlet_steps import StreamletPlace

if TYPE_CHECKING:
    from heronpy.streamlet.streamlet import Streamlet

#: at least once would track each element until its windows have ended; effectively once loses none either
_GUARANTEES: dict[Any, Guarantee] = {
    TopologyReliabilityMode.ATMOST_ONCE: "at_most_once",
    TopologyReliabilityMode.ATLEAST_ONCE: "effectively_once",
    TopologyReliabilityMode.EFFECTIVELY_ONCE: "effectively_once",
}


class StreamletPipeline(Pipeline):
    """Travels to its tasks with its functions: files make streamlets in their main part, which tasks skip."""

    by_value = True

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        mode = config.get(TOPOLOGY_RELIABILITY_MODE, TopologyReliabilityMode.ATMOST_ONCE)
        refuse_unless(
            mode in _GUARANTEES,
            f"{TOPOLOGY_RELIABILITY_MODE} is {mode!r}",
            hint="config.set_delivery_semantics(Config.EFFECTIVELY_ONCE)",
        )
        super().__init__(name, guarantee=_GUARANTEES[mode], key_groups=config.get(TOPOLOGY_KEY_GROUPS, 256))
        self.config = {key: value for key, value in config.items() if key != TOPOLOGY_RELIABILITY_MODE}
        #: step → the line that made its streamlet
        self._sites: dict[str, Site] = {}

    def of_streamlet(self, site: Site) -> None:
        """The steps that were added last are of a streamlet that was made on this line."""
        for step in super().graph().steps:
            self._sites.setdefault(step.name, site)

    def graph(self) -> Graph:
        sites = self._sites
        return super().graph().changed(lambda step: [dataclasses.replace(step, site=sites[step.name])])


class StreamletBuilding:
    """A pipeline while streamlets are added to it."""

    def __init__(self, name: str, config: Mapping[str, Any], *, timed: bool) -> None:
        self.pipeline = StreamletPipeline(name, config)
        self._timed = timed
        #: None: its elements leave the pipeline
        self._built: dict[Streamlet, Stream[Any] | None] = {}
        self._tasks = 0

    def __contains__(self, streamlet: Streamlet) -> bool:
        return streamlet in self._built

    def add(self, streamlet: Streamlet) -> None:
        """The steps of a streamlet whose parents have theirs."""
        place = StreamletPlace(
            self.pipeline,
            self._named(streamlet),
            tuple(str(parent.get_name()) for parent in streamlet._parents),
            self._partitions(streamlet),
            self._timed,
        )
        streams = [stream for parent in streamlet._parents if (stream := self._built[parent]) is not None]
        self._built[streamlet] = streamlet._step.add(place, *streams)
        self.pipeline.of_streamlet(streamlet._site)

    def _named(self, streamlet: Streamlet) -> str:
        taken = {other.get_name() for other in self._built}
        name, number = streamlet.get_name(), 1
        while name is None:
            numbered = f"{streamlet._kind}-{number}"
            name = None if numbered in taken else numbered
            number += 1
        refuse_unless(name not in taken, f"two streamlets are called {name!r}", hint=f"set_name('{name}-2')")
        streamlet.set_name(name)
        return name

    def _partitions(self, streamlet: Streamlet) -> Partitions:
        count = streamlet.get_num_partitions()
        refuse_unless(
            type(count) is int and count >= 1,
            f"{streamlet!r} cannot have {count!r} partitions",
            hint="set_num_partitions(1)",
        )
        first = self._tasks + 1
        self._tasks += count
        return Partitions(count, first, self.pipeline.config)
