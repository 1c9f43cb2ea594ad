"""`didact explain`: a lesson as a page to send."""

from __future__ import annotations

import shlex
from typing import Any

import click

from didact.cli import options, printing
from didact.cli.exits import exit_code
from didact.cli.settings import world_settings
from didact.errors import InvalidParameter


@click.command("explain")
@click.argument("world")
@options.parameters
@options.seed("a random world and teacher")
@options.text(
    "--policy",
    "optimal",
    "What to explain: optimal, a .npy or .json file of actions or probabilities by state, "
    "or module:name of a function or of an agent with predict.",
    metavar="POLICY",
)
@options.choice(
    "--if-not-optimal",
    ("stop", "nearest"),
    "For a policy that no reward in the features explains: stop, or teach the nearest.",
)
@click.option("-n", "--budget", type=click.IntRange(1), help="At most so many demonstrations.")
@options.file("-o", "--out", help="Where the page goes.", default="lesson.html", show_default=True)
@options.text("--teacher", "scot", "As for `didact teach`.")
@options.horizon
@options.scope()
@options.arithmetic("auto: exact, with a proof, up to 20,000 states times features.")
@options.choice(
    "--audience",
    ("experts", "people"),
    "Who reads it: people who watch get plain words, the mathematics folded away.",
    names=("--for",),
)
@click.option("--pair", metavar="I,J", help="The two features of the half-space picture.")
@options.as_json
def command(
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    out: str,
    pair: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Explain WORLD or a policy for it by a few demonstrations, as one page.

    WORLD is a name that `didact worlds` lists, a Gymnasium environment such as Taxi-v4, module:name
    of an environment of your own, or a task file (.json). The page opens offline: what to show,
    what each demonstration rules out, what stays open. Exit code 0: taught; 3: something stays
    open, or no reward explains the policy; 4: the proof failed.
    """
    from didact.app.explain import explain_source
    from didact.cli.progress import waiting

    parameters = world_settings(world, settings, seed)
    again = _command(world, settings, {**given, "seed": seed, "out": out, "pair": pair})
    with waiting(f"explaining {world}"):
        explained = explain_source(
            world,
            parameters,
            pair=_as_pair(pair),
            seed=0 if seed is None else seed,
            command=again,
            out=out,
            **given,
        )
    if as_json:
        written = None if explained.page is None else out
        printing.print_json({**explained.document(), "page": written})
        return exit_code(explained.is_taught)
    _say(explained, out)
    return exit_code(explained.is_taught)


def _say(explained: Any, out: str) -> None:
    """The verdict, the story of the policy, and where the page is."""
    from didact.report.verdicts import lesson_line

    if explained.lesson is not None:
        printing.print_line(lesson_line(explained.task, explained.lesson, explained.verified))
    for line in explained.story:
        printing.print_line(f"  {line}" if explained.lesson is not None else line)
    if explained.page is None:
        printing.print_line("Nothing was written; --if-not-optimal nearest teaches the nearest.")
        return
    size = len(explained.page.encode("utf-8"))
    printing.print_line(f"  saved as {out} ({max(1, round(size / 1000))} kB)")


def _as_pair(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        first, second = (int(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter(f"--pair must read 0,1; it is {text!r:.60}") from None
    return first, second


_USUAL = {
    "policy": "optimal",
    "if_not_optimal": "stop",
    "teacher": "scot",
    "scope": "reachable",
    "arithmetic": "auto",
    "audience": "experts",
}
_SHORT = {"budget": "-n", "out": "-o", "audience": "--for"}


def _command(world: str, settings: tuple[str, ...], given: dict[str, Any]) -> str:
    """The command line that makes the same page, with what differs from the usual."""
    parts = ["didact", "explain", world]
    for setting in settings:
        parts += ["-p", setting]
    for name, value in given.items():
        if value is not None and _USUAL.get(name) != value:
            parts += [_SHORT.get(name, f"--{name.replace('_', '-')}"), str(value)]
    return shlex.join(parts)
