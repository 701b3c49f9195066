"""Writes every sample as one line of JSON."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import ClassVar

import msgspec
from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.config.units import parse_size
from heronpy.kernel.errors import ConfigError
from heronpy.kernel.machine.private import private
from heronpy.kernel.plugin.metric_sink import MetricSink, Sample

log = logging.getLogger(__name__)

DEFAULT_MAX_BYTES = 64 * 1024 * 1024


class JsonLines(MetricSink):
    """One flat object per sample in `container-<k>.jsonl`: its labels, then at, name, value and kind.

    `plugins.jsonl.max_bytes` bounds the file; what went before is kept once, as `container-<k>.old.jsonl`.
    """

    name: ClassVar[str] = "jsonl"

    @override
    def initialize(self, config: Config, topology: str, container: int, folder: str) -> None:
        self._path = Path(folder) / f"container-{container}.jsonl"
        self._old_path = Path(folder) / f"container-{container}.old.jsonl"
        self._max_bytes = _max_bytes(config)
        #: opened by the first write, so that a disk that is full now may have room then
        self._file: FileIO | None = None
        #: samples lost since the disk refused one; 0 while all is well
        self._dropped = 0

    @override
    def write(self, at: float, samples: Sequence[Sample]) -> None:
        if not samples:
            return
        try:
            self._append(b"".join(_line(at, sample) for sample in samples))
        except OSError as error:
            if not self._dropped:
                log.error("cannot write metrics to %s, dropping them until it works: %s", self._path, error)
            self._dropped += len(samples)
        else:
            if self._dropped:
                log.warning("metrics go to %s again; %d samples were dropped", self._path, self._dropped)
            self._dropped = 0

    @override
    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _append(self, data: bytes) -> None:
        file = self._opened()
        size = file.tell()
        if size and size + len(data) > self._max_bytes:
            self.close()
            self._path.replace(self._old_path)
            file, size = self._opened(), 0
        try:
            written = 0
            while written < len(data):
                written += file.write(data[written:])
        except OSError:
            # Half a line would make the rest of the file unreadable for jq.
            with contextlib.suppress(OSError):
                file.truncate(size)
            self.close()
            raise

    def _opened(self) -> FileIO:
        if self._file is None:
            self._file = open(self._path, "ab+", buffering=0, opener=private)  # noqa: SIM115 - closed by close()
            _cut_half_line(self._file)
        return self._file


def _max_bytes(config: Config) -> int:
    value = config.plugin(JsonLines.name).get("max_bytes", DEFAULT_MAX_BYTES)
    try:
        return parse_size(value)
    except (TypeError, ValueError):
        msg = f'plugins.jsonl.max_bytes must be a size such as "64MB", got {value!r}'
        raise ConfigError(msg) from None


def _line(at: float, sample: Sample) -> bytes:
    flat = {**sample.labels, "at": at, "name": sample.name, "value": sample.value, "kind": sample.kind}
    return msgspec.json.encode(flat) + b"\n"


def _cut_half_line(file: FileIO) -> None:
    """A writer that was killed in the middle of a line may have left half of it."""
    size = end = file.tell()
    while end:
        start = max(0, end - 64 * 1024)
        found = os.pread(file.fileno(), end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        file.truncate(end)
        file.seek(end)
