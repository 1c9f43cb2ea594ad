"""Options that several commands share."""

from __future__ import annotations

import json
from typing import Any

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
parameters = click.option(
    "-p",
    "--parameter",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the world, as size=9; may be given again. `didact worlds` lists them.",
)
seed = click.option(
    "--seed", type=click.IntRange(0), help="The seed of a random world; the same as -p seed=N."
)


def with_seed(given: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """The parameters, with the seed among them where one was given."""
    return given if seed is None else {**given, "seed": seed}


def print_json(document: Any) -> None:
    """One JSON value on standard output."""
    click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
