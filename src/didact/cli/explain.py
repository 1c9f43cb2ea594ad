"""`didact explain`: a lesson as a page to send."""

from __future__ import annotations

import shlex
from typing import Any

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter


@click.command("explain")
@click.argument("world")
@options.parameters
@options.seed("a random world and teacher")
@options.members
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
@click.option("-n", "--budget", type=options.Whole(1), help="At most so many demonstrations.")
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
    members: int | None,
    out: str,
    pair: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Explain WORLD or a policy for it by a few demonstrations, as one page.

    WORLD is a name that `didact worlds` lists, a Gymnasium environment such as Taxi-v4, module:name
    of an environment of your own, or a file (.json) of a task or of a family, whose members stand
    side by side. The page opens offline: what to show,
    what each demonstration rules out, what stays open. Exit code 0: taught; 3: something stays
    open, or no reward explains the policy; 4: the proof failed.
    """
    from didact.app.explain import explain_source

    parameters = options.world_settings(world, settings, seed, members)
    kept = {**given, "seed": seed, "members": members, "out": out, "pair": pair}
    again = _command(world, settings, kept)
    family = _family(world, parameters)
    if family is not None:
        return _explain_family(family, given, seed, again, out, as_json=as_json)
    with printing.waiting(f"explaining {world}"):
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
        return printing.exit_code(explained.is_taught)
    _say(explained, out)
    return printing.exit_code(explained.is_taught)


def _family(world: str, parameters: dict[str, Any]) -> Any:
    """The family that is meant; None for a task, which is opened later."""
    from didact.mdp import Family
    from didact.worlds.opening import meaning_of, open_task_or_family

    if "members" not in parameters and meaning_of(world) != "file":
        return None
    found = open_task_or_family(world, parameters)
    return found if isinstance(found, Family) else None


def _explain_family(
    family: Any, given: dict[str, Any], seed: int | None, again: str, out: str, *, as_json: bool
) -> int:
    """The page of a family; options that speak of one world are refused."""
    from didact.app.explain import explain_family
    from didact.report.words.lessons import family_lesson_lines

    for name in ("policy", "if_not_optimal", "audience"):
        if given[name] != _USUAL[name]:
            raise InvalidParameter(
                f"--{name.replace('_', '-')} is for one world; leave it out for a family"
            )
    taken = {k: v for k, v in given.items() if k not in ("policy", "if_not_optimal", "audience")}
    with printing.waiting(f"explaining {family.name}"):
        start = 0 if seed is None else seed
        explained = explain_family(family, seed=start, command=again, out=out, **taken)
    if as_json:
        printing.print_json({**explained.document(), "page": out})
        return printing.exit_code(explained.is_taught)
    for line in family_lesson_lines(family, explained.lesson, explained.verified):
        printing.print_line(line)
    size = len(explained.page.encode("utf-8"))
    printing.print_line(f"  saved as {out} ({max(1, round(size / 1000))} kB)")
    return printing.exit_code(explained.is_taught)


def _say(explained: Any, out: str) -> None:
    """The verdict, the story of the policy, and where the page is."""
    from didact.report.words.lessons import lesson_line

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
    numbers = options.read_numbers(text, "--pair")
    if numbers is None:
        return None
    if len(numbers) != 2:
        raise InvalidParameter(f"--pair must read 0,1; it is {text!r:.60}")
    return numbers[0], numbers[1]


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
