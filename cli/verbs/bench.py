"""heronpy bench: what this machine can do, in words a second or in queries of NEXMark."""

from __future__ import annotations

import click

from heronpy.cli.options import shortcut, takes_duration, takes_output, takes_settings
from heronpy.cli.views.output import count, echo_json
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UsageError, did_you_mean
from heronpy.nexmark.queries import QUERIES, TIMED_QUERIES

#: what is measured where nothing is named
DEFAULT = "words"


class _Benchmarks(click.Group):
    """`heronpy bench` and `heronpy bench --for 3s` measure the default."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args and (args[0] in ctx.help_option_names or not args[0].startswith("-"))
        return super().parse_args(ctx, args if named else [DEFAULT, *args])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            msg = f"no benchmark named {args[0]!r}{did_you_mean(args[0], self.commands)}"
            raise UsageError(msg)
        return super().resolve_command(ctx, args)


@click.group("bench", cls=_Benchmarks)
def command() -> None:
    """Measure what this machine can do: words a second, or a query of NEXMark.

    Without a name, words.
    """


@command.command("words")
@click.option(
    "--unit",
    type=click.Choice(["rows", "batches", "columns"]),
    default="rows",
    show_default=True,
    help="What spout and bolt handle at a time: a word, a batch of rows, or Arrow columns.",
)
@click.option(
    "--guarantee",
    type=click.Choice(["at_most_once", "at_least_once", "effectively_once"]),
    default="at_most_once",
    show_default=True,
    help="What is promised for every word.",
)
@click.option(
    "--keys", type=click.IntRange(min=1), default=450_000, show_default=True, help="Different words."
)
@click.option("--zipf", is_flag=True, help="Few words are frequent, instead of all alike.")
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Tasks of the spout, and as many of the bolt.",
)
@shortcut("--fuse", "MODE", "Whether tasks share a process: none or container.")
@shortcut("--link", "KIND", "Links within a container: unix or zmq.")
@takes_duration
@takes_output
@takes_settings
def words(
    config: Config,
    unit: str,
    guarantee: str,
    keys: int,
    zipf: bool,
    tasks: int,
    seconds: float | None,
    output: str,
) -> None:
    """Count words at full speed, from a spout to a bolt, and say how many a second and at what cost.

    The counts are checked. The cost is that of all processes of the topology.
    """
    from heronpy.bench_words import WordBlock
    from heronpy.cli.measuring.word_rate import MEASURED, WordCount

    count_words = WordCount(unit, guarantee, WordBlock(keys, zipf), tasks)
    measured = count_words.measure(config, MEASURED if seconds is None else seconds)
    if output == "json":
        echo_json(measured)
        return
    click.echo(
        f"{count(measured.words_per_second)} words a second from spout to bolt,"
        f" {measured.cpu_microseconds_per_word:.3g} CPU-microseconds a word in all processes,"
        f" over {measured.seconds:.0f} s; {unit}, {guarantee}, {keys:,} keys, {tasks} + {tasks} tasks,"
        " all counts right"
    )


@command.command("nexmark")
@click.argument("query")
@click.option(
    "--events", type=click.IntRange(min=1), default=100_000, show_default=True, help="How many there are."
)
@click.option(
    "--generators",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Splits of the source, which several tasks can read.",
)
@click.option(
    "--runner",
    default="local",
    show_default=True,
    metavar="NAME",
    help="Where the pipeline runs: local, engine, spark, …",
)
@takes_output
@takes_settings
def nexmark(config: Config, query: str, events: int, generators: int, runner: str, output: str) -> None:
    """Run a QUERY of NEXMark over events of Apache Beam's generator, and say how long it took.

    QUERY is one of Q0 to Q9 or Q11 to Q13. The clock runs until the last result is visible; it is started
    when the events are generated, unless the runner can only generate them while it runs.
    """
    from heronpy.cli.measuring.nexmark_run import NexmarkRun

    if query.upper() not in (*QUERIES, *TIMED_QUERIES):
        msg = f"NEXMark has no query {query!r} here{did_you_mean(query.upper(), (*QUERIES, *TIMED_QUERIES))}"
        raise UsageError(msg)
    if generators > events:
        msg = f"{generators} generators cannot share {events} events"
        raise UsageError(msg, hint=f"--generators {events} or fewer")
    measured = NexmarkRun(query.upper(), events, generators, runner).measure(config)
    if output == "json":
        echo_json(measured)
        return
    generation = "generated by the run itself"
    if measured.generation_seconds is not None:
        generation = f"generated before in {measured.generation_seconds:.1f} s"
    click.echo(
        f"{measured.query} by {measured.runner}: {measured.results:,} results of {events:,} events in"
        f" {measured.seconds:.2f} s, {count(events / measured.seconds)} events a second,"
        f" {1e6 * measured.cpu_seconds / events:.2f} CPU-microseconds an event; events were {generation}"
    )
