"""Runs what a builder has."""

from __future__ import annotations

from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.impl.checks import refuse_unless


class Runner:
    """Makes a pipeline of streamlets and submits it."""

    def run(self, name: str, config: Config, builder: Builder) -> None:
        """Where a command loads the file, as `heronpy submit` and `heronpy run` do, the command runs it.

        In a plain program it runs in this process until it is interrupted.
        """
        refuse_unless(isinstance(name, str), f"the name of a topology is a string, not {name!r}")
        refuse_unless(isinstance(config, Config), f"run takes a Config, not {config!r}")
        refuse_unless(isinstance(builder, Builder), f"run takes a Builder, not {builder!r}")
        builder.build(name, config).run()
