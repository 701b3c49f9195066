"""One line with what is being waited for, on standard error."""

from __future__ import annotations

import sys

import click

from heronpy.cli.views.output import is_terminal

CLEAR_LINE = "\r\x1b[K"


class ProgressLine:
    """On a terminal the line is written over and vanishes at the end; elsewhere each is a line of its own."""

    def __init__(self) -> None:
        self._terminal = is_terminal(sys.stderr)

    def say(self, text: str) -> None:
        if self._terminal:
            click.echo(f"{CLEAR_LINE}{text}", err=True, nl=False)
        else:
            click.echo(text, err=True)

    def clear(self) -> None:
        if self._terminal:
            click.echo(CLEAR_LINE, err=True, nl=False)
