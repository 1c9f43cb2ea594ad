"""`didact observe`: clips of a policy in a simulator that teach its reward, with a certificate."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from didact.cli import options, printing
from didact.stages import listening

LONG = 20.0
"""Seconds above which a forecast is printed where no terminal shows it."""


@contextmanager
def forecasts() -> Iterator[None]:
    """Print forecasts of long work once where standard error is no terminal."""
    if sys.stderr.isatty():
        yield
        return
    told: list[str] = []

    def tell(words: str) -> None:
        found = re.search(r"^forecast: .* ([\d,]+) s$", words)
        if found and float(found[1].replace(",", "")) > LONG and not told:
            told.append(words)
            printing.print_note(f"{words}; --time keeps it shorter")

    with listening(tell):
        yield


@click.command("observe")
@click.argument("env")
@options.parameters
@options.seed("all that is drawn")
@click.option("--policy", help="An agent's .zip or folder, module:name or file.py:name.")
@options.trust_pickle
@click.option(
    "--features",
    help="phi(obs, action, next_obs, terminated, info): module:name, file.py:name, or auto.",
)
@click.option("--feature-names", help="Their names, as speed,energy.")
@click.option("--weights", help="Of the features in the reward, as 1,0; fitted if left out.")
@click.option("--discount", type=float, default=0.99, show_default=True, help="Below 1.")
@click.option("--actions", type=float, help="Step around a continuous action.")
@click.option("--held", help="For how many steps others are taken, as 1,4,16; once by default.")
@click.option("--starts", help="Seeds of resets to begin with, as 0,1,2.")
@click.option("--recorded", metavar="DATASET", help="Cut demonstrations of this Minari dataset.")
@options.number(
    "--n-rollouts", default=100, within=options.Whole(1), help="Episodes of the policy."
)
@click.option("--length", type=options.Whole(1), help="Their most steps; to their end if left out.")
@click.option(
    "--time", "seconds", type=float, help="Seconds for branches, about; replanning comes on top."
)
@click.option("--tolerance", type=float, help="Return below which a difference counts as none.")
@click.option("--horizon", type=options.Whole(1), help="Steps of a branch.")
@click.option("--repeats", type=options.Whole(2), help="Branches of each action, with chance.")
@click.option("--reward-range", help="The least and the largest reward of a step, as 0,1.")
@options.number("--jobs", default=1, within=options.Whole(1), help="Processes that branch.")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler that branches instead.")
@options.file("--checkpoint", help="Keep what is done there, and go on from it.")
@options.choice(
    "--restore", ("auto", "own", "mujoco", "copy", "replay"), "How states are put back."
)
@options.choice(
    "--demonstrations", ("clips", "rollouts"), "Runs of steps without a mistake, or whole rollouts."
)
@options.number(
    "--n-situations",
    default=600,
    within=options.Whole(1),
    help="States sampled in each round of the certificate.",
)
@options.text("--confidence", "95%", "Of the certificate.")
@options.text("--target", "2%", "Share of open states that is small enough.")
@click.option("--extend/--no-extend", default=True, help="Show counterexamples as further clips.")
@options.file("--out", help="Write what was seen to this file (.npz).")
@options.file("--html", help="Write the lesson as a page.")
@click.option("--minari", metavar="NAME", help="Write the clips as a Minari dataset, as clips-v0.")
@options.as_json
def command(
    env: str,
    settings: tuple[str, ...],
    seed: int | None,
    n_situations: int,
    confidence: str,
    target: str,
    extend: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Find the fewest clips of a policy in the simulator ENV that teach its reward, certified.

    ENV is point-robot, pendulum, mountain-car or lqr, which bring a policy and features, a
    Gymnasium id such as CartPole-v1, or module:name. Exit code 0: the open share is certified to
    be within the target, and planning for the taught weights keeps the agent's return; 3: not so.
    """
    from didact.app.observe import as_share, observe_source
    from didact.report.words.observed import lesson_document, lesson_lines

    asked = {
        "n_states": n_situations,
        "level": as_share(confidence, "--confidence"),
        "target": as_share(target, "--target"),
        "extend": extend,
    }
    for name in ("weights", "feature_names", "reward_range"):
        text = given[name]
        given[name] = None if text is None else [part.strip() for part in text.split(",")]
    given["starts"] = options.read_numbers(given["starts"], "--starts")
    given["held"] = options.read_numbers(given["held"], "--held") or 1
    if given["seconds"] is not None:  # half for what is seen, half for the certificate
        given["seconds"] = asked["seconds"] = given["seconds"] / 2
    parameters = options.read_settings(settings)
    if env == "point-robot":
        parameters = options.with_seed(parameters, seed)
    with printing.waiting(f"observing {env}") as tell:

        def progress(done: int, total: int, rate: float) -> None:
            tell(f"observing {env}: {done} of {total} states, {rate:,.0f} steps a second")

        with forecasts():
            watched = observe_source(
                env, parameters, certificate=asked, seed=seed, progress=progress, **given
            )
    told = watched.lesson.certificate
    holds = told is not None and told.holds and not watched.lesson.is_empty
    if as_json:
        printing.print_json(lesson_document(watched.lesson))
        return printing.exit_code(holds)
    printing.print_result(lesson_lines(watched.lesson))
    for place in watched.written:
        printing.print_line(f"  saved as {place}")
    return printing.exit_code(holds)
