"""Writes lines into files, each of which appears as a whole when it is committed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heronpy.connectors.files.folder import FileWriter, tabbed
from heronpy.sinks.staging import StagingSink, absolute
from heronpy.spec import HeronComponentSpec
from heronpy.stream import Stream
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class FileSink(StagingSink):
    """Writes one line per tuple into a folder, a file per checkpoint and task.

    >>> FileSink.spec("out", inputs=[], folder="/data/out").custom_config
    {'filesink.folder': '/data/out'}

    Visible files in the folder are complete, committed, and never change. Uncommitted files are in its
    subfolder `.uncommitted`. All machines that the topology runs on must see the same folder.
    """

    FOLDER = "filesink.folder"
    SUFFIX = "filesink.suffix"

    folder: Path
    suffix: str

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        inputs: Any = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        suffix: str | None = None,
    ) -> HeronComponentSpec:
        """`folder` may be relative to where the topology is submitted; files end in `suffix`: ".txt"."""
        given = {cls.FOLDER: os.path.abspath(folder) if folder is not None else None, cls.SUFFIX: suffix}
        return super().spec(name, inputs, par, with_given(config, given), optional_outputs)

    def line(self, tup: Tuple) -> str:
        """The line of a tuple, without its end: the values with tabs between them. Override it as you like.

        Backslashes, tabs and line ends in a value are written as `\\\\`, `\\t`, `\\n` and `\\r`.
        """
        return tabbed(tup.values)

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """A subclass that overrides `initialize` must call this one."""
        self.folder = absolute(config, self.FOLDER, context.get_component_id())
        self.suffix = str(config.get(self.SUFFIX, ".txt"))
        task = context.plan.task(context.get_task_id())
        label = f"{task.component}-{task.index}"
        name = type(self).__qualname__
        self.use_writer(FileWriter(self.folder, self.owner, self.suffix, line=str, label=label, sink=name))

    def process(self, tup: Tuple) -> None:
        self.put(self.line(tup), tup)


def with_given(config: dict[str, Any] | None, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The config with what was given by keyword."""
    merged = {**(config or {}), **{key: value for key, value in given.items() if value is not None}}
    return merged or config
