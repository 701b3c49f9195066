"""Combines the layers of settings: default < file < environment < flag."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from heronpy.kernel.config.config import DEFAULT, FILE_ORIGIN, Config
from heronpy.kernel.config.ranges import ORDERED
from heronpy.kernel.config.schema import convert, defaults, flatten, is_defaults, is_free
from heronpy.kernel.config.topology_keys import HEEDED, PREFIX, UNHEEDED, guess
from heronpy.kernel.config.trust import read_trusted
from heronpy.kernel.errors import ConfigError, close_to, did_you_mean

ENVIRONMENT_PREFIX = "HERONPY_"
FILE_NAME = "heron.toml"

#: options that stand for a setting
OPTIONS = {
    "--state": "state.manager",
    "--packing": "packing.algorithm",
    "--scheduler": "scheduler.name",
    "--timeout": "submit.timeout",
    "--fuse": "topology.fuse",
    "--link": "transport.local",
}


def load_config(
    file: str | None = None,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, str] = {},
) -> Config:
    """The effective settings; errors name the layer at fault.

    `flags` maps keys, as given with --set, or options that stand for one (`--state`), to text.
    """
    values = {key: convert(key, value) for key, value in defaults().items()}
    origins = dict.fromkeys(values, DEFAULT)
    layers = [*_file_layer(file, environ), *_environment_layer(environ), *_flag_layer(flags)]
    for key, value, origin in layers:
        values[key] = _checked(key, value, origin)
        origins[key] = origin
    config = Config(values, origins)
    _check_order(config)
    return config


def environment_name(key: str) -> str:
    """credit.window → HERONPY_CREDIT_WINDOW."""
    return ENVIRONMENT_PREFIX + key.upper().replace(".", "_")


def _file_layer(file: str | None, environ: Mapping[str, str]) -> Iterable[tuple[str, Any, str]]:
    path = Path(file) if file is not None else _found_file(environ)
    if path is None:
        return
    origin = f"{FILE_ORIGIN}{path.absolute()}"
    try:
        # a file that a person names is that person's choice, wherever it is
        text = path.read_text(encoding="utf-8") if file is not None else read_trusted(path)
        table = tomllib.loads(text)
    except FileNotFoundError:
        msg = f"there is no settings file {str(path)!r}"
        raise ConfigError(msg, hint="pass --config with the path of a TOML file") from None
    except (OSError, ValueError) as error:
        msg = f"cannot read the settings {origin}: {error}"
        raise ConfigError(msg, hint="see heron.toml in the project for the form") from error
    for key, value in flatten(table):
        yield key, value, origin


def _found_file(environ: Mapping[str, str]) -> Path | None:
    candidates = [Path(FILE_NAME)]
    if environ.get("HOME"):
        candidates.append(Path(environ["HOME"], ".config", "heronpy", FILE_NAME))
    # in a clone the defaults themselves lie in the current folder
    return next((path for path in candidates if path.is_file() and not is_defaults(path)), None)


def _environment_layer(environ: Mapping[str, str]) -> Iterable[tuple[str, Any, str]]:
    known = {environment_name(key): key for key in defaults()}
    for name, value in environ.items():
        if not name.startswith(ENVIRONMENT_PREFIX):
            continue
        if name not in known:
            msg = f"environment variable {name} is not a setting{did_you_mean(name, known)}"
            raise ConfigError(msg, hint=f"unset {name}")
        yield known[name], value, f"environment {name}"


def _flag_layer(flags: Mapping[str, str]) -> Iterable[tuple[str, Any, str]]:
    for name, value in flags.items():
        if name in OPTIONS:
            yield OPTIONS[name], value, f"flag {name}"
        elif name.startswith(("topology.", "component.")) and isinstance(value, str):
            yield name, plain_value(value), "flag --set"
        else:
            yield name, value, "flag --set"


def _checked(key: str, value: Any, origin: str) -> Any:
    if is_free(key):
        _check_topology_key(key, origin)
        return value
    if key not in defaults():
        msg = f"unknown setting {key!r} (from {origin}){_meant(key)}"
        raise ConfigError(msg, hint="heronpy config show")
    try:
        return convert(key, value)
    except ValueError as error:
        msg = f"{key} {error} (from {origin})"
        raise ConfigError(msg) from None


def _meant(key: str) -> str:
    """The settings of a section, or the one whose name, with or without its section, is closest."""
    if below := [known for known in defaults() if known.startswith(f"{key}.")]:
        return f": it is a section, with {', '.join(below)}"
    if section := close_to(key.partition(".")[0], ("topology", "component")):
        return f"; did you mean '{section}.{key.partition('.')[2]}'?"
    last_words = {known.rpartition(".")[2]: known for known in defaults()}
    close = difflib.get_close_matches(key, last_words, n=1) if "." not in key else []
    return f"; did you mean {last_words[close[0]]!r}?" if close else did_you_mean(key, defaults())


def _check_order(config: Config) -> None:
    for lower, upper in ORDERED:
        if config[lower] > config[upper]:
            least, most = (
                f"{key}, {config.shown(key)} (from {config.origin(key)})" for key in (lower, upper)
            )
            msg = f"{least} must not be more than {most}"
            raise ConfigError(msg)


def _check_topology_key(key: str, origin: str) -> None:
    """Of the topology's config, a setting may be only what has an effect."""
    if key in UNHEEDED:
        msg = f"{key} (from {origin}) means nothing to heronpy"
        raise ConfigError(msg, hint=f"set component.NAME.{key} for a component that reads it")
    if key.startswith(PREFIX) and key not in HEEDED:
        msg = f"unknown setting {key!r} (from {origin}){guess(key)}"
        raise ConfigError(msg, hint="set component.NAME.KEY for a component's own key")


def plain_value(text: str) -> Any:
    """A value of a topology's config: numbers, true, false, lists and objects as JSON has them, else text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
