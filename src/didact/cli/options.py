"""Options that several commands share, and how commands print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

Option = Callable[[Any], Any]


class Whole(click.IntRange):
    """A whole number of a range, in ASCII digits.

    Click's own type reads what `int` does, 1_0 and Arabic digits too, and repeats what it cannot
    read at any length.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; refused in one short line where it is none."""
        if isinstance(value, str):
            from didact.inputs import shown, whole_in  # loads NumPy, which --help does not need

            number = whole_in(value)
            if number is None:
                self.fail(f"{shown(value)} is not a valid {self.name}.", param, ctx)
            value = number
        return super().convert(value, param, ctx)


class AnyWhole(Whole):
    """A whole number, called as Click calls it."""

    name = "integer"

    def _describe_range(self) -> str:
        return ""


trust_pickle = click.option(
    "--trust-pickle",
    is_flag=True,
    help="Let a .zip of Stable-Baselines3 be unpickled, which can run any code that it holds.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
horizon = click.option(
    "--horizon", type=Whole(1), help="Steps of a demonstration; 1: single pairs."
)
members = click.option(
    "--members",
    type=Whole(1),
    help="A family of so many worlds, drawn by seeds from --seed on.",
)
FORMATS = click.Choice(["json", "jsonl", "csv", "minari", "imitation"])
"""Of recordings."""


def texts(*names: str, help: str) -> Option:
    """An option that takes a text NAME=VALUE, and may be given again."""
    return click.option(*names, multiple=True, metavar="NAME=VALUE", help=help)


parameters = texts(
    "-p",
    "--parameter",
    "settings",
    help="A parameter of the world, as size=9; may be given again. `didact worlds` lists them.",
)


def text(name: str, default: str, help: str, **more: Any) -> Option:
    """An option that takes a text."""
    return click.option(name, default=default, show_default=True, help=help, **more)


def number(
    *names: str, default: float, within: click.IntRange | click.FloatRange, help: str
) -> Option:
    """An option that takes a number of a range."""
    return click.option(*names, type=within, default=default, show_default=True, help=help)


def seed(of: str) -> Option:
    """The option --seed; of: what is drawn by it."""
    return click.option("--seed", type=Whole(0), help=f"The seed of {of}.")


def choice(name: str, choices: Sequence[str], help: str, names: Sequence[str] = ()) -> Option:
    """An option that takes one of some words, the first by default; names: what else it is."""
    return click.option(
        name, *names, type=click.Choice(choices), default=choices[0], show_default=True, help=help
    )


def scope() -> Option:
    """The option --scope."""
    told = "Whose behaviour counts: states reachable from the start, or all."
    return choice("--scope", ("reachable", "all"), told)


def cost(*more: str) -> Option:
    """The option --cost; more: costs besides the usual two."""
    return choice("--cost", ("demonstrations", "pairs", *more), "What to keep small.")


def arithmetic(help: str = "How ties are decided.") -> Option:
    """The option --arithmetic."""
    return choice("--arithmetic", ("auto", "float", "exact"), help)


def settings_of(kind: str, help: str) -> Option:
    """The options -t, -l or -s NAME=VALUE of a teacher, a learner or a strategy."""
    return texts(f"-{kind[0]}", f"--{kind}-option", f"{kind}_settings", help=help)


def file(*names: str, help: str, **more: Any) -> Option:
    """An option that names a file."""
    return click.option(*names, type=click.Path(dir_okay=False), help=help, **more)
