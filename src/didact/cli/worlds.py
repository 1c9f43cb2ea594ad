"""`didact worlds`: what there is to teach."""

from __future__ import annotations

import click

from didact.cli.options import as_json, print_json


@click.command("worlds")
@as_json
def command(as_json: bool) -> None:
    """List the worlds, with their parameters and defaults.

    A world can also be a task file (.json) or a Gymnasium environment such as Taxi-v4.
    """
    from didact.worlds import worlds

    listed = worlds()
    if as_json:
        print_json(
            {
                name: {
                    "summary": info.summary,
                    "parameters": {key: _plain(value) for key, value in info.parameters.items()},
                }
                for name, info in listed.items()
            }
        )
        return
    for name, info in listed.items():
        click.echo(f"{name}\n    {info.summary}")
        shown = ", ".join(f"{key}={value}" for key, value in info.parameters.items())
        click.echo(f"    {shown or 'no parameters'}\n")


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | None) else str(value)
