"""Runs a file in a process of its own and brings back the plans of its topologies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plans.validate import validate
from heronpy.loading import file_process
from heronpy.loading.exchange import LoadRequest, Outcome
from heronpy.loading.file_process import LoadError, source_of


def load_topologies(
    file: str | os.PathLike[str], argv: Sequence[str] = (), overrides: Mapping[str, Any] = {}
) -> list[LogicalPlan]:
    """The validated plans of all topologies in a file that is run as a script with these arguments.

    `overrides`, by `topology.KEY` and `component.NAME.KEY`, go on top of the config in the file. None if
    the file ended by itself before it submitted one, as after `--help`.
    """
    source = source_of(file, argv)
    return validated(file_process.load(LoadRequest(source, dict(overrides))), source.file)


def validated(outcome: Outcome, file: str) -> list[LogicalPlan]:
    """The plans of an outcome, each sound by itself and with a name of its own."""
    names = [plan.name for plan in outcome.plans]
    for plan in outcome.plans:
        if names.count(plan.name) > 1:
            msg = f"{os.path.basename(file)} has two topologies called {plan.name!r}"
            raise LoadError(msg, hint="give each a name of its own")
        validate(plan)
    return outcome.plans
