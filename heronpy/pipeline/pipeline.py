"""A pipeline: a name, settings and the steps that its streams have added."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

from heronpy.kernel.names import checked_name
from heronpy.pipeline.building import Steps, refuse_unless
from heronpy.pipeline.ends import RecordSource
from heronpy.pipeline.graph import Graph, ReadOp
from heronpy.pipeline.streams import Stream

T = TypeVar("T")
Guarantee: TypeAlias = Literal["at_most_once", "at_least_once", "effectively_once"]
GUARANTEES = ("at_most_once", "at_least_once", "effectively_once")


class Pipeline:
    """Reads sources, takes steps, writes sinks; steps are data until a runner takes them.

        >>> from heronpy import Pipeline
        >>> from heronpy.pipeline import sinks, sources
        >>> p = Pipeline("wordcount")
        >>> (p.read(sources.items(["to be or", "not to be"]))
        ...   .flat_map(str.split)
        ...   .key_by(str.lower).count()
        ...   .write(sinks.printed()))

    Steps are written at the top level of the file. Nothing runs while they are.
    """

    def __init__(
        self,
        name: str,
        *,
        guarantee: Guarantee = "effectively_once",
        key_groups: int = 256,
        **config: Any,
    ) -> None:
        self.name = checked_name("the pipeline", name)
        refuse_unless(
            guarantee in GUARANTEES,
            f"the guarantee {guarantee!r} of {name!r} is not known",
            hint=" or ".join(map(repr, GUARANTEES)),
        )
        self.guarantee, self.key_groups, self.config = guarantee, key_groups, config
        self._steps = Steps(name)

    def read(self, source: RecordSource[T], *, name: str | None = None, par: int | None = None) -> Stream[T]:
        """The stream of a source's records."""
        is_source = hasattr(source, "open") and hasattr(source, "bounded")
        refuse_unless(
            is_source, f"read takes a source, got {source!r}", hint="p.read(sources.items([1, 2, 3]))"
        )
        return Stream(self._steps, self._steps.add(ReadOp(source), function=source, name=name, par=par).name)

    def graph(self) -> Graph:
        """The steps as they were written."""
        return self._steps.graph()
