"""A pipeline: a name, settings and the steps that its streams have added."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from heronpy.connectors import Source
from heronpy.kernel.names import checked_name
from heronpy.pipeline.building import Steps, checked_end
from heronpy.pipeline.checks import refuse_unless
from heronpy.pipeline.graph import Graph, ReadOp, WindowOp
from heronpy.pipeline.streams import Stream
from heronpy.submissions import submissions

T = TypeVar("T")
Guarantee: TypeAlias = Literal["at_most_once", "at_least_once", "effectively_once"]
#: a pipeline is written without what runs it, which is found by name
RUNNING = "heronpy.loading.running"
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
        >>> p.run()
        ('to', 2)
        ('be', 2)
        ('or', 1)
        ('not', 1)

    Steps are written at the top level of the file. Nothing runs before `run`.
    """

    #: whether it travels to its tasks, with its functions; else each task makes it again, from the file
    by_value: ClassVar[bool] = False

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
        submissions.made(self)

    def read(self, source: Source[T], *, name: str | None = None, par: int | None = None) -> Stream[T]:
        """The stream of a source's records."""
        checked_end("read", source, Source, hint="p.read(sources.items([1, 2, 3]))")
        step = self._steps.add(ReadOp(source), called=source.name, name=name, par=par)
        return Stream(self._steps, step.name)

    def graph(self) -> Graph:
        """The steps as they were written."""
        graph = self._steps.graph()
        window = next((step for step in graph.steps if isinstance(step.op, WindowOp)), None)
        refuse_unless(
            window is None or self.guarantee != "at_least_once",
            f"guarantee='at_least_once' would track each record until the windows of"
            f" {window.name if window else ''!r} have ended",
            hint="guarantee='effectively_once'",
        )
        return graph

    def run(self, runner: str | None = None) -> None:
        """Run until the input has ended: the last line of a file for `python file.py`.

        `runner` is "local" by default: this process. Where the file is loaded by a command, as with `heronpy
        run` or `heronpy submit`, or in a task of the engine, it does nothing.
        """
        if not submissions.loading:
            importlib.import_module(RUNNING).run_from_program(self.graph(), runner or "local")
