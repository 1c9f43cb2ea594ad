"""`didact worlds`: what there is to teach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing

if TYPE_CHECKING:
    from didact.worlds import WorldInfo


@click.command("worlds")
@options.output()
def command(output: printing.Output) -> None:
    """List the worlds, with their parameters and defaults.

    A world can also be a task file (.json) or a Gymnasium environment such as Taxi-v4.
    """
    from didact.worlds import worlds

    listed = worlds()
    from didact.worlds.simulators.opening import BUILT_IN

    lines = []
    for info in listed.values():
        lines.append(f"{info.name}: {info.summary}")
        lines += [f"  {_parameters(info)}"] if output.details else []
    lines.append(f"Simulators, for `didact observe`: {', '.join(BUILT_IN)}.")
    lines.append("Draw one with `didact show random-grid -p size=5 -p slip=0.1`.")
    lines += [] if output.details else ["--details: the parameters of each, with their defaults"]
    output.show(lambda: {name: _document(info) for name, info in listed.items()}, lines)


def _document(info: WorldInfo) -> dict[str, Any]:
    from didact.inputs import plain_document
    from didact.worlds import REQUIRED

    given = info.parameters.items()
    return {
        "summary": info.summary,
        "required": [name for name, value in given if value is REQUIRED],
        "parameters": plain_document({n: value for n, value in given if value is not REQUIRED}),
        "takes_others": info.open_ended,
    }


def _parameters(info: WorldInfo) -> str:
    """The parameters as one would type them after -p."""
    parts = [f"{name}={_typed(value)}" for name, value in info.parameters.items()]
    if info.open_ended:
        parts.append("and those of the environment")
    return ", ".join(parts) or "no parameters"


def _typed(value: object) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_typed, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return "''" if value == "" else str(value)
