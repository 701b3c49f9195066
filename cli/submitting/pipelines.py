"""Running the pipelines of a file in the foreground, by a runner; topologies of the file are the engine's."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from heronpy.cli.submitting.foreground import run_in_foreground
from heronpy.cli.submitting.submission import note_files
from heronpy.kernel.config import Config
from heronpy.kernel.plugin.opening import installed
from heronpy.loading import file_process
from heronpy.loading.exchange import LoadRequest, RunRequest
from heronpy.loading.load import validated


def run_file(
    config: Config,
    file: str,
    args: Sequence[str],
    *,
    runner: str | None = None,
    name: str | None = None,
    seconds: float | None = None,
) -> None:
    """Until the input has ended or Ctrl-C (SIGTERM, `seconds`). Without a runner, the file decides."""
    if runner is not None and installed().runner(runner).as_topology:
        run_in_foreground(config, file, args, name=name, seconds=seconds)
        return
    note_files(file, args)
    source = file_process.source_of(file, args)
    wanted = RunRequest(
        load=LoadRequest(source, {**config.topology, **config.component}),
        settings=config.to_plain(),
        parent=os.getpid(),
        runner=runner or "",
        name=name or "",
    )
    outcome = file_process.run(wanted, seconds=seconds, grace=config.number("kill.timeout"))
    if outcome.unread:
        click.get_current_context().exit(1)
    if not outcome.ran:
        plans = validated(outcome, source.file)
        run_in_foreground(config, file, args, name=name, seconds=seconds, plans=plans)
