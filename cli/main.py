"""The command `heronpy`: a table of verbs, each imported when it is used, and the place that shows errors."""

from __future__ import annotations

import errno
import importlib
import importlib.metadata
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import click

from heronpy.kernel.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: verb → what it does, in the order in which --help shows them
VERBS = {
    "demo": "Run a word count with a live table; Ctrl-C stops it.",
    "run": "Run a pipeline or topology in the foreground; Ctrl-C stops it.",
    "submit": "Start a pipeline or topology in the background.",
    "list": "List the topologies.",
    "status": "Show the state of a topology and what it waits for.",
    "top": "Watch the numbers of a topology, live.",
    "logs": "Show or follow what a topology's processes wrote.",
    "plan": "Show what runs in which container, or a pipeline's stages.",
    "checkpoints": "List what a topology has saved, take or verify a checkpoint.",
    "activate": "Let the spouts of a topology emit again.",
    "deactivate": "Pause the spouts of a topology.",
    "update": "Change the parallelism of a running topology, or its config.",
    "restart": "Restart the containers of a topology, or one of them.",
    "kill": "End topologies and clear all they left.",
    "bench": "Measure words a second, or a query of NEXMark.",
    "plugins": "List the installed plugins.",
    "plugin": "Make the package of a new plugin.",
    "config": "Show the settings and where each comes from.",
    "completion": "Print the completion script for a shell.",
    "version": "Show the versions of heronpy, Python and pyzmq.",
}

INTERRUPTED = 130

#: errors of a full disk that the output is redirected to
OUTPUT_REFUSED = (errno.ENOSPC, errno.EDQUOT)


#: what other tools call it → what is called so here
SYNONYMS = {
    "stop": "kill",
    "delete": "kill",
    "remove": "kill",
    "rm": "kill",
    "scale": "update",
    "rescale": "update",
    "start": "submit",
    "deploy": "submit",
    "ls": "list",
    "ps": "list",
    "pause": "deactivate",
    "resume": "activate",
    "savepoint": "checkpoints",
    "help": "--help",
}


class Verbs(click.Group):
    """The built-in verbs, then those of plugins. No verb is imported before it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [*VERBS, *_plugin_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name in VERBS:
            module = importlib.import_module(f"heronpy.cli.verbs.{cmd_name}")
            command: click.Command = module.command
            return command
        return _plugin_commands().get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            instead = SYNONYMS.get(args[0])
            meant = (
                f"; did you mean {instead!r}?" if instead else did_you_mean(args[0], self.list_commands(ctx))
            )
            msg = f"no command named {args[0]!r}{meant}"
            raise click.UsageError(msg, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(_short_helps().items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = [
            CompletionItem(verb, help=text)
            for verb, text in _short_helps().items()
            if verb.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run, and end the process: one line for a user's mistake, a traceback only for a bug in heronpy."""
        extra["standalone_mode"] = False
        try:
            outcome = super().main(*args, **extra)
        except UserError as error:
            _show_frames(error.traceback)
            _complain(str(error), error.exit_code)
        except click.NoSuchOption as error:
            _complain(_unknown_option(error), error.exit_code)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.UsageError as error:
            _complain(f"{_one_line(error)}{_see_help(error)}", error.exit_code)
        except click.ClickException as error:
            _complain(error.format_message(), error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno not in OUTPUT_REFUSED:
                raise
            _complain(f"cannot write the output: {error.strerror}", UserError.exit_code)
        sys.exit(outcome if isinstance(outcome, int) else 0)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="heron-py", prog_name="heronpy", message="%(prog)s %(version)s")
def cli() -> None:
    """Run Python topologies: spouts and bolts as processes, everything else a plugin.

    Start with `heronpy demo`.
    """


def main() -> NoReturn:
    """Entry point of the command line."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            # whatever signal ends the process: what a verb has begun is cleaned up as after Ctrl-C
            signal.signal(number, signal.default_int_handler)
    cli.main(prog_name="heronpy")


def _short_helps() -> Mapping[str, str]:
    plugged = _plugin_commands()
    return {**VERBS, **{name: command.get_short_help_str(80) for name, command in plugged.items()}}


def _plugin_commands() -> Mapping[str, click.Command]:
    """Verbs of installed plugins; loading plugins is slow, so only if there are any."""
    found = importlib.metadata.entry_points(group="heronpy")
    if all(entry.value.startswith("heronpy.plugins.") for entry in found):
        return {}
    from heronpy.kernel.plugin.opening import installed

    return {provided.name: provided.value for provided in installed().listing() if provided.kind == "command"}


def _unknown_option(error: click.NoSuchOption) -> str:
    known: list[str] = []
    takes_args = False
    if error.ctx is not None:
        known = [name for param in error.ctx.command.params for name in param.opts if name.startswith("-")]
        takes_args = any(param.name == "args" for param in error.ctx.command.params)
    own = " (try: put the topology's own options after --)" if takes_args else _see_help(error)
    return f"no option {error.option_name!r}{did_you_mean(error.option_name, [*known, '--help'])}{own}"


def _one_line(error: click.UsageError) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    return message[:1].lower() + message[1:]


def _see_help(error: click.UsageError) -> str:
    return f" (try: {error.ctx.command_path} --help)" if error.ctx is not None else ""


def _show_frames(traceback: str) -> None:
    for line in traceback.splitlines():
        click.echo(f"  {line}", err=True)


def _complain(message: str, exit_code: int) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(exit_code)
