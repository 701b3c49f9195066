"""Where the data source looks: options of Spark become settings of heronpy, and a place in the store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, Self

import msgspec

from heronpy.kernel.checkpoints.object_names import component_prefix, components_prefix
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.config.units import parse_duration
from heronpy.kernel.errors import ConfigError, UserError, did_you_mean
from heronpy.kernel.names import checked_name
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.spark.schema import SCHEMA, decoded
from heronpy.spark.shelf import Shelf

Kind = Literal["segments", "ingest"]

#: kind of objects → the component class that makes them
_MADE_BY = {"segments": "SegmentSink", "ingest": "IngestSpout"}
#: short for a setting
_SHORT = {"path": "checkpoint.path", "store": "checkpoint.store"}
_READING = ("reader", "maxSegmentsPerTrigger", "partitions")
_WRITING = ("outstanding", "timeout", "id", "wait")
_OWN = ("topology", "component", *_SHORT, *_READING, *_WRITING)
#: Spark gives its own options to the source as well
_SPARKS = ("checkpointlocation", "queryname", "outputmode", "triggerinterval")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What was given with .option(…). Holds all that a machine needs that has no heron.toml."""

    topology: str
    component: str
    #: the effective settings, as Config.to_plain() gave them
    config: dict[str, Any]
    reader: str = "default"
    #: 0 for all that are there
    most_segments: int = 0
    partitions: int = 32
    #: batches that may wait for the topology before the next one waits
    outstanding: int = 8
    timeout: float = 60.0
    #: makes a batch write one that happens once
    id: str = ""
    #: whether a batch write waits until the topology has taken it over
    wait: bool = False

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """ConfigError for one that is missing, unknown or of the wrong form. Spark changes their case."""
        known = {option.lower(): option for option in _OWN}
        options: dict[str, str] = {}
        settings: dict[str, str] = {}
        for key, value in given.items():
            option = known.get(key.lower())
            if option is None and "." not in key:
                if key.lower() not in _SPARKS:
                    msg = f"the data source 'heron' has no option {key!r}{did_you_mean(key, _OWN)}"
                    raise ConfigError(msg)
            elif option is None or option in _SHORT:
                settings[_SHORT.get(option or "", key)] = value
            else:
                options[option] = value
        for needed in ("topology", "component"):
            if not options.get(needed):
                msg = f"the data source 'heron' needs the option {needed!r}"
                raise ConfigError(msg, hint=f'add .option("{needed}", …)')
            checked_name(needed, options[needed])
        return cls(
            topology=options["topology"],
            component=options["component"],
            config=_absolute(load_config(flags=settings)).to_plain(),
            reader=checked_name("reader", options.get("reader", "default")),
            most_segments=_number(options, "maxSegmentsPerTrigger", 0),
            partitions=_number(options, "partitions", 32, least=1),
            outstanding=_number(options, "outstanding", 8, least=1),
            timeout=_duration(options, "timeout", 60.0),
            id=checked_name("id", options["id"]) if options.get("id") else "",
            wait=options.get("wait", "false").lower() == "true",
        )

    def open(self, kind: Kind) -> Shelf:
        """The shelf of the component, whether there is anything on it or not."""
        store = open_checkpoint_store(Config.from_plain(self.config))
        return Shelf(store, f"{component_prefix(self.topology, self.component)}/{kind}")

    def schema(self, shelf: Shelf, kind: Kind) -> Any:
        """The schema of the component; UserError, with what there is, if it has none."""
        data = shelf.find(SCHEMA)
        if data is not None:
            return decoded(data)
        names = shelf.store.names(f"{components_prefix(self.topology)}/")
        known = {name.split("/")[2] for name in names if name.endswith(f"/{kind}/{SCHEMA}")}
        what = f"topology {self.topology!r} has no {_MADE_BY[kind]} {self.component!r}"
        where = Config.from_plain(self.config).shown("checkpoint.path") or "its default place"
        if not known:
            msg = f"{what}, or has not been submitted, or not with the checkpoint store in {where}"
            hint = f"run heronpy status {self.topology}, and check the options `path` and `store`"
            raise UserError(msg, hint=hint)
        msg = f"{what}{did_you_mean(self.component, known)}"
        raise UserError(msg)

    def what(self, kind: Kind) -> str:
        """How messages call it."""
        return f"{_MADE_BY[kind]} {self.component!r} of topology {self.topology!r}"


def _absolute(config: Config) -> Config:
    """With the place spelt out: in another process or on another machine it might be another folder."""
    if config.text("checkpoint.store") != "localfs":
        return config
    chosen = config.text("checkpoint.path")
    plain = config.to_plain()
    plain["values"]["checkpoint.path"] = (
        os.path.abspath(os.path.expanduser(chosen)) if chosen else str(config.home / "checkpoints")
    )
    return Config.from_plain(plain)


def _number(options: Mapping[str, str], key: str, default: int, least: int = 0) -> int:
    text = options.get(key, str(default))
    if not text.isdecimal() or int(text) < least:
        msg = f"the option {key!r} must be a whole number of at least {least}, got {text!r}"
        raise ConfigError(msg)
    return int(text)


def _duration(options: Mapping[str, str], key: str, default: float) -> float:
    if key not in options:
        return default
    try:
        return parse_duration(options[key])
    except ValueError as error:
        msg = f"the option {key!r} {error}"
        raise ConfigError(msg) from None
