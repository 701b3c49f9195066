"""The effective settings of one command or one topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heronpy.kernel.config.schema import kinds
from heronpy.kernel.config.units import format_duration, format_size

DEFAULT = "default"
#: how the origin of a setting from a file begins
FILE_ORIGIN = "file "


class Config(Mapping[str, Any]):
    """Settings by dotted key; durations are seconds (float), sizes are bytes (int). Never changes.

    `config["credit.window"]` is 0.25. The typed getters return the same, with a type.
    """

    def __init__(self, values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
        self._values = MappingProxyType(dict(values))
        self._origins = MappingProxyType(dict(origins))

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def origin(self, key: str) -> str:
        """Its layer: "default", "file /x/heron.toml", "environment HERONPY_…" or "flag --set"."""
        return self._origins.get(key, DEFAULT)

    @property
    def files(self) -> list[str]:
        """Settings files that something here comes from, by their absolute paths."""
        found = {
            each.removeprefix(FILE_ORIGIN) for each in self._origins.values() if each.startswith(FILE_ORIGIN)
        }
        return sorted(found)

    def text(self, key: str) -> str:
        return str(self[key])

    def integer(self, key: str) -> int:
        return int(self[key])

    def number(self, key: str) -> float:
        """Also for durations: seconds."""
        return float(self[key])

    def words(self, key: str) -> tuple[str, ...]:
        return tuple(self[key])

    @property
    def home(self) -> Path:
        """The folder below which the state tree, work folders and logs live; absolute."""
        return Path(self.text("home"))

    def plugin(self, name: str) -> Mapping[str, Any]:
        """The free-form table [plugins.NAME]. Values given with --set are text."""
        prefix = f"plugins.{name}."
        return {key.removeprefix(prefix): value for key, value in self.items() if key.startswith(prefix)}

    @property
    def topology(self) -> Mapping[str, Any]:
        """The `topology.*` settings, under their full names; they override the topology's own config."""
        return {key: value for key, value in self.items() if key.startswith("topology.")}

    @property
    def component(self) -> Mapping[str, Any]:
        """The `component.NAME.KEY` settings, under their full names; they override components' config."""
        return {key: value for key, value in self.items() if key.startswith("component.")}

    def shown(self, key: str) -> str:
        """The value as heron.toml would have it: 0.25 → "250ms"."""
        value, kind = self[key], kinds().get(key, "text")
        if kind == "duration":
            return format_duration(value)
        if kind == "size":
            return format_size(value)
        if kind == "words":
            return ",".join(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def to_plain(self) -> dict[str, Any]:
        """All of it as plain values that JSON can hold, for another process."""
        return {"values": dict(self._values), "origins": dict(self._origins)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Config:
        values = {
            key: tuple(value) if kinds().get(key) == "words" else value
            for key, value in plain["values"].items()
        }
        return cls(values, plain["origins"])
