"""Writes lines into files, each of which appears as a whole when it is committed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from heronpy.kernel.formats import HANDLE
from heronpy.kernel.machine.durable import sync
from heronpy.kernel.machine.private import readable
from heronpy.sinks.staging import StagingSink, absolute, discard
from heronpy.spec import HeronComponentSpec
from heronpy.stream import Stream
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

#: what would end a field or a line
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_BUFFER = 1 << 18


class _Handle(msgspec.Struct):
    staged: str
    target: str


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
    _label: str
    _file: IO[str] | None
    _path: Path

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
        return "\t".join([str(value).translate(_ESCAPES) for value in tup.values])

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """A subclass that overrides `initialize` must call this one."""
        self.folder = absolute(config, self.FOLDER, context.get_component_id())
        self.suffix = str(config.get(self.SUFFIX, ".txt"))
        task = context.plan.task(context.get_task_id())
        self._label = f"{task.component}-{task.index}"
        self._file = None
        self.use_staging(self.folder / ".uncommitted")

    def begin(self) -> None:
        """The file is made with the first line, so that none is empty."""

    def process(self, tup: Tuple) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        self._file.write(self.line(tup) + "\n")
        self.noted(tup)

    def prepare(self, checkpoint: int) -> bytes:
        file, self._file = self._file, None
        if file is None:
            return b""
        file.close()
        self.prepared(self._path)
        unique = self._path.name.rpartition("~")[2]
        target = self.folder / f"{self._label}-{checkpoint:06d}-{unique}{self.suffix}"
        return HANDLE.encode(_Handle(str(self._path), str(target)))

    def commit(self, handle: bytes) -> None:
        found = HANDLE.decode(handle, _Handle, "a transaction of a FileSink")
        staged, target = Path(found.staged), Path(found.target)
        try:
            staged.rename(target)
        except FileNotFoundError:
            # Committed before; the file may have been read and taken away since.
            if not target.exists():
                self.check_missing(staged)
        if target.parent.exists():
            sync(target.parent)
        self.committed(staged)

    def close(self) -> None:
        file, self._file = getattr(self, "_file", None), None
        if file is not None:
            file.close()
            discard(self._path)

    def _open(self) -> None:
        self._path = self.stage()
        self._file = open(  # noqa: SIM115 - closed by prepare() or close()
            self._path, "x", _BUFFER, "utf-8", "backslashreplace", "\n", opener=readable
        )


def with_given(config: dict[str, Any] | None, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The config with what was given by keyword."""
    merged = {**(config or {}), **{key: value for key, value in given.items() if value is not None}}
    return merged or config
