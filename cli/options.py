"""What many verbs take: settings, an output form, the name of a topology."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.config.units import parse_duration
from heronpy.kernel.errors import UserError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])

_FLAGS = "heronpy.flags"
_FILE = "heronpy.config_file"


def takes_settings(verb: Callable[Concatenate[Config, P], None]) -> Callable[P, None]:
    """Adds --state, --set and --config to a verb, which gets the effective settings as its first argument."""

    @shortcut("--state", "NAME", "State manager plugin.")
    @click.option(
        "--set",
        multiple=True,
        metavar="KEY=VALUE",
        expose_value=False,
        callback=_remember_assignments,
        help="Change a setting for this command; may be repeated.",
    )
    @click.option(
        "--config",
        metavar="FILE",
        expose_value=False,
        callback=_remember_file,
        help="Settings file, instead of ./heron.toml.",
    )
    @functools.wraps(verb)
    def with_settings(*args: P.args, **kwargs: P.kwargs) -> None:
        verb(settings_of(click.get_current_context()), *args, **kwargs)

    return with_settings


def settings_of(ctx: click.Context) -> Config:
    """The settings that this command line asks for."""
    return load_config(ctx.meta.get(_FILE), os.environ, ctx.meta.get(_FLAGS, {}))


def shortcut(option: str, metavar: str, help: str) -> Callable[[F], F]:
    """An option that stands for a setting (see OPTIONS in heronpy.kernel.config.layers)."""
    return click.option(option, metavar=metavar, expose_value=False, callback=_remember_shortcut, help=help)


def takes_output(verb: F) -> F:
    """Adds -o table|json; the verb gets it as `output`."""
    form = click.Choice(["table", "json"])
    return click.option(
        "-o", "--output", type=form, default="table", show_default=True, help="Form of the output."
    )(verb)


def takes_duration(verb: F) -> F:
    """Adds --for DURATION; the verb gets it as `seconds`, None for no end."""
    help_text = "Stop by itself after this long, e.g. 10s."
    return click.option("--for", "seconds", metavar="DURATION", callback=duration, help=help_text)(verb)


def takes_timeout(help: str) -> Callable[[F], F]:
    """Adds --timeout DURATION; the verb gets it as `timeout`, None when it was not given."""
    return click.option("--timeout", metavar="DURATION", callback=duration, help=help)


def takes_name(verb: F) -> F:
    """Adds the argument NAME, an existing topology."""
    return click.argument("name", shell_complete=complete_names)(verb)


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the topologies that exist, for the shell."""
    from click.shell_completion import CompletionItem

    from heronpy.cli.reading.topologies import names, open_state

    del param
    try:
        with open_state(settings_of(ctx)) as state:
            return [CompletionItem(name) for name in names(state) if name.startswith(incomplete)]
    except UserError:
        # completion shows no errors; the command itself reports what is wrong
        return []


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Callback of an option that takes a duration; None when it is not given."""
    try:
        return None if value is None else parse_duration(value)
    except ValueError:
        msg = f"{value!r} is not a duration such as 10s or 5m"
        raise click.BadParameter(msg, ctx, param) from None


def _remember_shortcut(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta.setdefault(_FLAGS, {})[param.opts[0]] = value


def _remember_assignments(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> None:
    del param
    for assignment in values:
        key, equals, value = assignment.partition("=")
        if not equals or not key:
            msg = f"--set wants KEY=VALUE, got {assignment!r}"
            raise click.UsageError(msg, ctx)
        ctx.meta.setdefault(_FLAGS, {})[key] = value


def _remember_file(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    del param
    if value is not None:
        ctx.meta[_FILE] = value
