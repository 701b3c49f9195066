"""The sources of a graph of streamlets, from which all of it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from heronpy.pipeline import Pipeline
from heronpy.streamlet.config import Config
from heronpy.streamlet.generator import Generator
from heronpy.streamlet.impl.checks import StreamletError, refuse_unless
from heronpy.streamlet.impl.streamlet_pipeline import StreamletBuilding
from heronpy.streamlet.impl.streamlet_steps import Generating
from heronpy.streamlet.impl.suppliers import Supplied
from heronpy.streamlet.streamlet import Streamlet


class Builder:
    """`Builder().new_source(generator).map(…).log()`, to be handed to `Runner().run`."""

    def __init__(self) -> None:
        self._sources: list[Streamlet] = []

    def new_source(self, source: Generator | Callable[[], Any]) -> Streamlet:
        """The streamlet of a generator's elements, or of what a function returns each time it is called."""
        refuse_unless(
            callable(source) or isinstance(source, Generator),
            f"a source is a Generator or a function, not {source!r}",
            hint='builder.new_source(ArrayLooper(["a", "b"]))',
        )
        if isinstance(source, Generator):
            made = Streamlet("generator", Generating(source))
        else:
            made = Streamlet("supplier", Generating(Supplied(source)))
        self._sources.append(made)
        return made

    def build(self, name: str, config: Config) -> Pipeline:
        """The pipeline with the steps of all streamlets."""
        timed = any(streamlet._step.windowed for streamlet in self._streamlets())
        building = StreamletBuilding(name, config._api_config, timed=timed)
        for source in self._sources:
            _build(source, building)
        for streamlet in self._streamlets():
            if streamlet not in building:
                msg = f"{streamlet!r} cannot be built: one of its sources is not of this builder"
                raise StreamletError(msg, hint="new_source of the same builder for both")
        return building.pipeline

    def _streamlets(self) -> Iterator[Streamlet]:
        """All that come from the sources."""
        waiting, found = list(self._sources), set[Streamlet]()
        while waiting:
            streamlet = waiting.pop()
            if streamlet not in found:
                found.add(streamlet)
                yield streamlet
                waiting += streamlet._children


def _build(streamlet: Streamlet, building: StreamletBuilding) -> None:
    if all(parent in building for parent in streamlet._parents):
        building.add(streamlet)
        for child in streamlet._children:
            _build(child, building)
