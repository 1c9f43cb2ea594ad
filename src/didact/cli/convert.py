"""`didact convert`: demonstrations from one format into another."""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing


@click.command("convert")
@click.argument("source")
@click.argument("target")
@click.option("--task", "world", metavar="WORLD", help="The task, where SOURCE does not say it.")
@options.parameters
@click.option("--source-format", type=options.FORMATS, help="The format of SOURCE.")
@click.option("--target-format", type=options.FORMATS, help="The format of TARGET.")
@click.option(
    "--episodes",
    metavar="N,N,...",
    help="These episodes alone, numbered as in the file and in `select --json`.",
)
@click.option("--replace", is_flag=True, help="Replace TARGET if there.")
@options.as_json
def command(
    source: str,
    target: str,
    settings: tuple[str, ...],
    episodes: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Write the demonstrations in SOURCE to TARGET in another format.

    Formats: JSON (.json, a lesson or a list), JSON lines (.jsonl), tables (.csv, with the columns
    episode, step, action, and state or observation), Minari datasets (names such as lesson-v0, on
    this machine), and folders that imitation reads. What didact wrote carries its task and reads
    back equal; tables hold neither a task nor a lesson.
    """
    from didact.app.convert import convert

    with printing.waiting(f"converting {source}"):
        converted = convert(
            source,
            target,
            parameters=options.read_settings(settings),
            episodes=options.read_numbers(episodes, "--episodes"),
            **given,
        )
    if as_json:
        printing.print_json(converted.document())
        return
    from didact.inputs import counted

    recording = converted.recording
    what = "a lesson" if recording.lesson is not None else "demonstrations"
    printing.print_line(
        f"{what} ({counted(len(recording.demonstrations), 'episode')}, "
        f"{counted(recording.n_pairs, 'step')}) as {converted.format}: {converted.path}"
    )
