"""`didact ask`: learn a world by asking what to do, of its optimal policy or of a person."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter

if TYPE_CHECKING:
    from didact.active import Run
    from didact.mdp import Task

ANSWERS = "answers.json"


@click.command("ask")
@options.world("a random world and all draws", has_members=False)
@options.text(
    "--strategy",
    "max-var",
    "random, max-entropy, max-infogain, max-var, scot, exact, or one of your own.",
)
@options.number("--n-queries", default=10, within=options.Whole(1), help="At most so many.")
@click.option(
    "--horizon",
    type=options.Whole(1),
    help="Steps of an answer; with a person 1, else to the end or 1 / (1 - discount).",
)
@click.option("--person", is_flag=True, help="You answer: arrow keys, letters, or lines of text.")
@click.option(
    "--comparisons",
    is_flag=True,
    help="Ask which of two actions is better (random, max-infogain).",
)
@click.option(
    "--states", metavar="S,S,...", callback=options.numbers, help="Ask only in these states."
)
@click.option("--repeat", is_flag=True, help="Ask a state again; else each is asked once.")
@click.option(
    "--loss-below",
    type=float,
    help="Stop when the learned policy loses less, by the 95% bound on its value at risk.",
)
@click.option(
    "--sure",
    type=float,
    help="Stop when in every state this share of the draws agrees; with a person 0.95.",
)
@options.file("--demonstrations", "first", help="Begin with these answers.")
@options.text("--learner", "birl", "Who learns from the answers.")
@click.option("--confidence", type=float, help="How strictly answers are optimal.")
@click.option(
    "--n-steps",
    type=options.Whole(1),
    help="Walk so many steps in each chain after each answer; by default until they have mixed.",
)
@click.option("--n-chains", type=options.Whole(1), help="How many chains.")
@options.settings_of("strategy", "An option of the strategy, as n_rollouts=20; may be given again.")
@options.settings_of("learner", "An option of the learner, as prior=box; may be given again.")
@options.file(
    "--out", help=f"Write the run to this file; with a person {ANSWERS}, written after every key."
)
@options.output()
def command(
    world: options.NamedWorld,
    n_queries: int,
    person: bool,
    first: str | None,
    out: str | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Learn WORLD by asking what to do in one state after another, or which action is better.

    The world's optimal policy answers, or with --person you do. WORLD is a name that `didact
    worlds` lists, a Gymnasium environment such as Taxi-v4, module:name of an environment of your
    own, or a task file (.json).
    """
    from didact.active import AskSettings
    from didact.worlds.opening import open_task

    task = open_task(world.name, world.parameters)
    where = AskSettings(states=given.pop("states"), repeat=given.pop("repeat"))
    choices = _choices(given) | {"n_queries": n_queries, "seed": world.seed or 0}
    if not person:
        with printing.waiting(f"asking about {world.name}"):
            run = _asked(task, first, out, settings=where, **choices)
        _report(task, run, out, output)
        return 0
    from didact.cli.person import ask_at_terminal

    out = out or ANSWERS
    with redirect_stdout(sys.stderr if output.as_json else sys.stdout):
        run = ask_at_terminal(task, first=first, out=out, settings=where, **choices)
    _report(task, run, out, replace(output, details=False))
    if (run.demonstrations or run.belief.feedback) and not output.as_json:
        again = [*(part for text in world.texts for part in ("-p", text))]
        again += [] if world.seed is None else ["--seed", str(world.seed)]
        learn = shlex.join(["didact", "learn", world.name, out, *again])
        printing.print_line(f"  learn from all answers: {learn}")
    return 0


def _asked(task: Task, first: str | None, out: str | None, **given: Any) -> Run:
    """Ask about a task; first: a file of demonstrations to begin with; out: where the run goes."""
    from didact.active import ask
    from didact.active.run import RUN_FORMAT
    from didact.files.json import require_writable
    from didact.files.kinds import json_kind
    from didact.mdp.recordings.formats import given_items

    shown = () if first is None else given_items(first, task)
    if out is not None:
        require_writable(out, json_kind(RUN_FORMAT), [first])
    run = ask(task, demonstrations=shown, **given)
    if out is not None:
        run.save(out)
    return run


def _choices(given: dict[str, Any]) -> dict[str, Any]:
    """The options of `ask` from those of the command; what was not given is left out."""
    from didact.active import AskSettings

    reserved = ("demonstrations", "answer", "settings", "n_queries", "seed")
    learner = options.read_options(given.pop("learner_settings"))
    for name in ("confidence", "n_steps", "n_chains"):
        value = given.pop(name)
        if value is not None and name in learner:
            option = f"--{name.replace('_', '-')}"
            raise InvalidParameter(f"{name} must be given once; leave out {option} or -l {name}")
        if value is not None:
            learner[name] = value
    for name in learner:
        if name in given or name in reserved or name in AskSettings.__dataclass_fields__:
            raise InvalidParameter(f"{name!r} is not an option of a learner")
    strategy = options.read_options(given.pop("strategy_settings"))
    if given.pop("comparisons"):
        strategy["comparisons"] = True
    plain = {name: value for name, value in given.items() if value is not None}
    return {**plain, "strategy_options": strategy, **learner}


def _report(task: Task, run: Run, out: str | None, output: printing.Output) -> None:
    from didact.report.terminal.tables import draw_run

    drawing = partial(draw_run, task, run, details=output.details)
    output.draw(run.document, drawing, [out])
