"""The command line reference, from what `--help` prints: `python docs/generate_cli.py`.

Commands are found through Click, so a new verb is in the reference as soon as it is generated
again; a test compares the file with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from didact.cli import cli

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# The command line

This page is generated from `--help`; write it anew with `python docs/generate_cli.py`.

Every command prints a picture or a table for people, and one JSON value with `--json`. Bad input
gets one line on standard error and exit code 2. Exit code 1 means that the output could not be
written, 130 that the command was interrupted. Without a terminal there are no colours.
`python -m didact` is the same as `didact`.
"""


def cli_reference() -> str:
    """The text of docs/cli.md."""
    sections = [_section(path) for path in _paths(cli, [])]
    return "\n".join([INTRODUCTION, *sections])


def _paths(command: click.Command, path: list[str]) -> Iterator[list[str]]:
    """The words of every command, groups before what is in them."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _paths(found, [*path, name])


def _section(path: list[str]) -> str:
    words = " ".join(["didact", *path])
    answer = CliRunner().invoke(cli, [*path, "--help"], prog_name="didact", terminal_width=80)
    assert answer.exit_code == 0, answer.output
    heading = f"## {words}\n\n" if path else ""
    return f"{heading}```text\n$ {words} --help\n{answer.output.rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(cli_reference(), encoding="utf-8")
