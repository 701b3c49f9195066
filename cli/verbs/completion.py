"""heronpy completion: the script that completes verbs, options and topology names in a shell."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash, zsh: eval "$(heronpy completion bash)" in ~/.bashrc or ~/.zshrc
    fish:      heronpy completion fish > ~/.config/fish/completions/heronpy.fish
    """
    from click.shell_completion import get_completion_class

    from heronpy.cli.main import cli

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(cli, {}, "heronpy", "_HERONPY_COMPLETE").source())
