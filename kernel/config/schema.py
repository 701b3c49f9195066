"""What may be set: heron.toml is the schema, and a default's type is its key's type."""

from __future__ import annotations

import functools
import importlib.resources
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from heronpy.kernel.config.ranges import RANGES
from heronpy.kernel.config.topology_keys import MAPS
from heronpy.kernel.config.units import DURATIONS, SIZES, parse_duration, parse_size
from heronpy.kernel.machine.listen_address import check_host

Kind = Literal["text", "path", "integer", "number", "switch", "words", "duration", "size"]

#: settings that take one of a few values
CHOICES = {
    "container.start": ("zygote", "spawn"),
    "credit.when_full": ("wait", "drop"),
    "transport.local": ("unix", "zmq"),
    "log.level": ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
}

#: files and folders that may be left out
OPTIONAL_PATHS = ("scheduler.yarn.conf", "state.zookeeper.credentials", "upload.requirements")

#: tables whose keys heron.toml does not list: those of plugins, of a topology's config and of components'
FREE_TABLES = ("plugins", "topology", "component")

_WANTED: Mapping[Kind, str] = {
    "text": "text",
    "path": "a path",
    "integer": "a whole number",
    "number": "a number",
    "switch": "true or false",
    "words": "a list of words",
    "duration": 'a duration such as "250ms", "10s" or "5m"',
    "size": 'a size such as "64KB", "1MB" or "2GB"',
}


@functools.cache
def defaults() -> Mapping[str, Any]:
    """Every key with its default as it is written in heron.toml, in the file's order."""
    return dict(flatten(tomllib.loads(_defaults_file().read_text(encoding="utf-8"))))


def is_defaults(path: Path) -> bool:
    """Whether this is the file that the defaults come from."""
    own = _defaults_file()
    return isinstance(own, Path) and path.resolve() == own.resolve()


def _defaults_file() -> Traversable:
    return importlib.resources.files("heronpy").joinpath("heron.toml")


@functools.cache
def kinds() -> Mapping[str, Kind]:
    return {key: _kind(default) for key, default in defaults().items()}


def is_free(key: str) -> bool:
    """Whether the key lies in a table that heron.toml does not list."""
    table, _, rest = key.partition(".")
    if table in ("plugins", "component"):
        return all(rest.partition(".")[::2])
    return table in FREE_TABLES and bool(rest)


def flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables as dotted keys; a plugin's own table keeps its inner tables as values."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        below_plugin = key.startswith("plugins.") and key.count(".") > 1
        if isinstance(value, dict) and not below_plugin and key not in MAPS:
            yield from flatten(value, f"{key}.")
        else:
            yield key, value


def convert(key: str, value: Any) -> Any:
    """The value in the form that code uses. ValueError says what was wanted."""
    kind = kinds()[key]
    if kind == "duration" and re.fullmatch(r"\d+(\.\d+)?", str(value).strip()):
        msg = f"must be a duration with its unit, got {value!r}: {value}s or {value}ms"
        raise ValueError(msg)
    try:
        converted = _CONVERTERS[kind](value)
    except (TypeError, ValueError):
        msg = f"must be {_WANTED[kind]}, got {value!r}"
        raise ValueError(msg) from None
    if converted not in CHOICES.get(key, (converted,)):
        msg = f"must be one of {', '.join(CHOICES[key])}, got {value!r}"
        raise ValueError(msg)
    if key in RANGES:
        least, most = RANGES[key]
        if not _CONVERTERS[kind](least) <= converted <= _CONVERTERS[kind](most):
            msg = f"must be at least {least} and at most {most}, got {value!r}"
            raise ValueError(msg)
    if key == "transport.host":
        check_host(converted)
    if key in OPTIONAL_PATHS and converted:
        converted = _path(converted)
    return converted


def _kind(default: Any) -> Kind:
    if isinstance(default, str):
        return _kind_of_text(default)
    if isinstance(default, bool):
        return "switch"
    if isinstance(default, int):
        return "integer"
    return "number" if isinstance(default, float) else "words"


def _kind_of_text(default: str) -> Kind:
    if default.startswith(("~", "/")):
        return "path"
    unit = re.sub(r"^\d+(\.\d+)?", "", default)
    if unit == default:
        return "text"
    if unit in DURATIONS:
        return "duration"
    return "size" if unit in SIZES else "text"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: Any) -> str:
    path = _text(value)
    if not path:
        raise ValueError
    return os.path.abspath(os.path.expanduser(path))


def _integer(value: Any) -> int:
    if isinstance(value, bool | float):
        raise TypeError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _switch(value: Any) -> bool:
    if value in (True, "true", "yes", "1"):
        return True
    if value in (False, "false", "no", "0"):
        return False
    raise ValueError


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return tuple(_text(word) for word in value)


_CONVERTERS: Mapping[Kind, Any] = {
    "text": _text,
    "path": _path,
    "integer": _integer,
    "number": _number,
    "switch": _switch,
    "words": _words,
    "duration": parse_duration,
    "size": parse_size,
}
