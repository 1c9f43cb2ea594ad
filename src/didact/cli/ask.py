"""`didact ask`: learn a world by asking what to do, of its optimal policy or of a person."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter

if TYPE_CHECKING:
    from didact.active import Question, Situation, Step
    from didact.mdp import Task

ANSWERS = "answers.json"


@click.command("ask")
@click.argument("world")
@options.parameters
@options.seed("a random world and all draws")
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
@click.option("--states", metavar="S,S,...", help="Ask only in these states.")
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
@options.details
@options.as_json
def command(
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    n_queries: int,
    person: bool,
    states: str | None,
    out: str | None,
    details: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Learn WORLD by asking what to do in one state after another, or which action is better.

    The world's optimal policy answers, or with --person you do. WORLD is a name that `didact
    worlds` lists, a Gymnasium environment such as Taxi-v4, module:name of an environment of your
    own, or a task file (.json).
    """
    from didact.active import AskSettings
    from didact.app.ask import ask_task
    from didact.worlds.opening import open_task

    task = open_task(world, options.world_settings(world, settings, seed))
    where = {"states": options.read_numbers(states, "--states"), "repeat": given.pop("repeat")}
    choices = _choices(given) | {"n_queries": n_queries, "seed": seed or 0}
    if person:
        out = out or ANSWERS
        given_world = [world, *(part for text in settings for part in ("-p", text))]
        again = given_world + ([] if seed is None else ["--seed", str(seed)])
        learn = shlex.join(["didact", "learn", *again[:1], out, *again[1:]])
        return _with_person(task, choices, where, out, as_json, learn)
    with printing.waiting(f"asking about {world}"):
        asked = ask_task(task, out=out, settings=AskSettings(**where), **choices)
    _report(task, asked.run, out, as_json, details=details)
    return 0


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


def _report(task: Task, run: Any, out: str | None, as_json: bool, *, details: bool = False) -> None:
    if as_json:
        printing.print_json(run.document())
        return
    from didact.report.terminal.tables import draw_run

    printing.print_drawing(lambda width: draw_run(task, run, width=width, details=details))
    if out is not None:
        printing.print_line(f"  saved as {out}")


# A person at the terminal


def _with_person(
    task: Task, choices: dict[str, Any], where: dict[str, Any], out: str, as_json: bool, learn: str
) -> int:
    from didact.active import AskSettings
    from didact.app.ask import action_keys, ask_person

    session = _Session(task, action_keys(task.mdp), choices["n_queries"], out)
    choices = {"horizon": 1, **choices}
    settings = AskSettings(on_step=session.learned, **where)
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        run = ask_person(
            *(task, session.choose),
            out=out,
            begin=session.begin,
            settings=settings,
            **choices,
        ).run
    _report(task, run, out, as_json)
    if (run.demonstrations or run.belief.feedback) and not as_json:
        printing.print_line(f"  learn from all answers: {learn}")
    return 0


class _Session:
    """Shows what is believed, asks, and reads keys or lines until one means an action."""

    def __init__(self, task: Task, keys: Any, n_queries: int, out: str):
        self.task, self.keys, self.out = task, keys, out
        self.total, self.n_answers = n_queries, 0

    def begin(self, n_before: int) -> None:
        """Say what to aim for, and what keys do."""
        from didact.report.page.plain import wishes

        self.total += n_before
        printing.print_words("Say what is best in each place. Aim for what this world rewards:")
        for line in wishes(self.task):
            printing.print_words(f"  {line}")
        printing.print_words("Or aim for what you want: the answers alone count.")
        before = f" after {n_before} from before" if n_before else ""
        printing.print_words(f"Every answer is kept in {self.out}{before}. z undoes, q stops.")

    def learned(self, step: Step, situation: Situation) -> None:
        """Tell what is believed after an answer."""
        from didact.report.terminal.tables import SURE, belief_line

        self.n_answers = len(situation.demonstrations) + len(situation.belief.feedback)
        printing.print_words(belief_line(step, situation))
        if step.is_telling and step.sure >= SURE:
            printing.print_words("I am sure now what to do in every state.")

    def choose(self, question: Question, path: Sequence[tuple[int, int]], state: int) -> int | None:
        """The action that the person chooses in a state; None to stop, UNDO to take one back."""
        from didact.app.ask import UNDO

        self._show(question, path, state)
        while True:
            typed = self._typed()
            if typed is None or self.keys.is_stop(typed):
                return None
            if self.keys.is_undo(typed):
                if path or self.n_answers:
                    printing.print_words("  taken back")
                    return UNDO
                printing.print_words("  there is nothing to take back")
                continue
            action: int | None = self.keys.action(typed)
            if action is not None and action not in (question.actions or (action,)):
                printing.print_words(f"  {self.keys.names[action]} is not one of the two")
                continue
            if action is not None:
                printing.print_line(f"  {self.keys.names[action]}")
                return action
            if typed.strip():
                printing.print_words(
                    f"  {typed.strip()[:20]!r} is no action here: {self.keys.words}; "
                    "z undoes, q stops"
                )

    def _show(self, question: Question, path: Sequence[tuple[int, int]], state: int) -> None:
        from rich.console import Group

        from didact.mdp.naming import state_words
        from didact.report.terminal.tables import draw_question

        printing.print_drawing(
            lambda width: Group(
                "", *draw_question(self.task, question.situation, state, path, width)
            )
        )
        step = f", step {len(path) + 1} of {question.horizon}" if question.horizon > 1 else ""
        where = state_words(self.task, state)
        asked = f"what to do in {where}?"
        if question.actions is not None:
            first, second = (self.keys.names[action] for action in question.actions)
            asked = f"which is better in {where}, {first} or {second}?"
        printing.print_words(
            f"question {question.number} of {self.total}{step}: {asked}  {self.keys.words}"
        )

    def _typed(self) -> str | None:
        from didact.cli import keys

        sys.stdout.flush()
        if keys.is_interactive() and self.keys.by_single_keys:
            return keys.read_key()
        return keys.read_line()
