"""`didact observe`: clips of a policy in a simulator that teach its reward, with a certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter
from didact.stages import Forecast, listener, listening, within

if TYPE_CHECKING:
    from didact.teaching import ClipLesson

LONG = 20.0
"""Seconds above which a forecast is printed."""

WRITTEN = ("out", "minari", "html")
"""Options that name what is written, in the order in which it is told."""


@contextmanager
def forecasts(*, is_timed: bool = False) -> Iterator[None]:
    """Print the first forecast of long work, beside whatever else is told of it."""
    told: list[str] = []
    before = listener()

    def tell(words: str) -> None:
        if isinstance(words, Forecast) and words.seconds > LONG and not told:
            told.append(words)
            printing.print_note(words if is_timed else f"{words}; --time keeps it shorter")
        before(words)

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
@click.option("--feature-names", callback=options.parts, help="Their names, as speed,energy.")
@click.option(
    "--weights",
    callback=options.parts,
    help="Of the features in the reward, as 1,0; fitted if left out.",
)
@click.option("--discount", type=float, default=0.99, show_default=True, help="Below 1.")
@click.option("--actions", type=float, help="Step around a continuous action.")
@click.option(
    "--held",
    callback=options.numbers,
    help="For how many steps others are taken, as 1,4,16; once by default, and for 16 steps, too, "
    "where once makes no difference.",
)
@click.option("--starts", callback=options.numbers, help="Seeds of resets to begin with, as 0,1,2.")
@click.option("--recorded", metavar="DATASET", help="Cut demonstrations of this Minari dataset.")
@options.number(
    "--n-rollouts", default=100, within=options.Whole(1), help="Episodes of the policy."
)
@click.option("--length", type=options.Whole(1), help="Their most steps; to their end if left out.")
@click.option(
    "--time", "seconds", type=float, help="Seconds, about, in which the best statement is made."
)
@click.option("--tolerance", type=float, help="Return below which a difference counts as none.")
@click.option("--horizon", type=options.Whole(1), help="Steps of a branch.")
@click.option("--repeats", type=options.Whole(2), help="Branches of each action, with chance.")
@click.option(
    "--reward-range",
    callback=options.parts,
    help="The least and the largest reward of a step, as 0,1.",
)
@click.option(
    "--expected-return",
    type=float,
    help="The agent's mean return where it is known: warns where it is far below. results.json "
    "beside an agent tells it.",
)
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
    "--n-states",
    default=600,
    within=options.Whole(1),
    help="States sampled in each round of the certificate.",
)
@options.text("--level", "95%", "Of the certificate.", callback=options.share)
@options.text(
    "--target", "2%", "Share of open states that is small enough.", callback=options.share
)
@click.option("--extend/--no-extend", default=True, help="Show counterexamples as further clips.")
@options.file("--out", help="Write what was seen to this file (.npz).")
@options.file("--html", help="Write the lesson as a page.")
@click.option("--minari", metavar="NAME", help="Write the clips as a Minari dataset, as clips-v0.")
@options.output()
def command(
    env: str,
    settings: tuple[str, ...],
    seed: int | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Find the fewest clips of a policy in the simulator ENV that teach its reward, certified.

    ENV is point-robot, pendulum, mountain-car or lqr, which bring a policy and features, a
    Gymnasium id such as CartPole-v1, or module:name. Exit code 0: the open share is certified to
    be within the target, and planning for the taught weights keeps the agent's return; 3: not so.
    """
    from didact.report.words.observed import lesson_document, lesson_lines

    asked = {name: given.pop(name) for name in ("n_states", "level", "target", "extend")}
    if given["seconds"] is not None:  # half for what is seen, half for the lesson
        given["seconds"] /= 2
    parameters = options.read_settings(settings)
    if env == "point-robot":
        parameters = options.with_seed(parameters, seed)
    with printing.waiting(f"observing {env}") as tell:

        def progress(done: int, total: int, rate: float) -> None:
            tell(f"observing {env}: {done} of {total} states, {rate:,.0f} steps a second")

        with forecasts(is_timed=given["seconds"] is not None):
            lesson = observed_lesson(
                env, parameters, certificate=asked, seed=seed, progress=progress, **given
            )
    holds = lesson.certificate is not None and lesson.certificate.holds
    if given["minari"] is not None and not lesson.clips:
        printing.print_note("there is no clip, so nothing is written with --minari")
    saved = (given[name] for name in WRITTEN if lesson.clips or name != "minari")
    lines = lesson_lines(lesson, details=output.details)
    output.show(lambda: lesson_document(lesson), lines, saved)
    return printing.exit_code(holds)


def observed_lesson(
    source: str,
    parameters: Mapping[str, Any],
    *,
    policy: str | None = None,
    features: str | None = None,
    demonstrations: str = "clips",
    certificate: Mapping[str, Any] | None = None,
    out: str | None = None,
    html: str | None = None,
    minari: str | None = None,
    seed: int | None = None,
    trust_pickle: bool = False,
    **settings: Any,
) -> ClipLesson:
    """The lesson of a policy in the simulator that `source` names.

    certificate: settings of `certify`; None: it is not certified. trust_pickle: whether a file of
    Stable-Baselines3 may be unpickled, which can run any code. settings: of `observe`.
    """
    from didact.bec import ObserveSettings, ObserveWorkers, observe
    from didact.bec.observed.result import OBSERVED_FORMAT
    from didact.files.json import require_writable, write_text
    from didact.files.kinds import PAGE, archive_kind
    from didact.report.page.simulators import simulator_page
    from didact.teaching import certify, teach
    from didact.worlds.gym.runs import names_agent, recorded_return

    for place, kind in ((out, archive_kind(OBSERVED_FORMAT)), (html, PAGE)):
        if place is not None:  # tried before the long work
            require_writable(place, kind, [policy])
    first = 0 if seed is None else seed
    env = environment_of(source, dict(parameters))
    agent = None if policy is None else agent_of(policy, env, trust_pickle)
    if policy is not None and settings.get("expected_return") is None and names_agent(policy):
        settings["expected_return"] = recorded_return(policy)
    sampling, workers = (
        {field.name: settings.pop(field.name) for field in fields(kind) if field.name in settings}
        for kind in (ObserveSettings, ObserveWorkers)
    )
    seen = observe(
        *(env, agent),
        features=features_of(features),
        settings=sampling,
        workers=workers,
        seed=first,
        **settings,
    )
    if out is not None:
        seen.save(out)
    with within(sampling.get("seconds")):
        lesson = teach(seen, demonstrations=demonstrations)
        if certificate is not None:
            lesson = certify(seen, lesson, **certificate, seed=first + 1)
    if minari is not None and lesson.clips:
        lesson.save_minari(minari)
    if html is not None:
        write_text(simulator_page(lesson), html, kind=PAGE)
    return lesson


def environment_of(source: str, parameters: dict[str, Any]) -> Any:
    """What a text names: a built-in simulator, a Gymnasium id, or module:name."""
    from didact.files.extras import named_object
    from didact.worlds.simulators.opening import BUILT_IN, named_environment

    if source in BUILT_IN or ":" not in source or "-v" in source:
        return named_environment(source, parameters)
    found = named_object(source, "the environment")
    if not parameters:
        return found
    if not callable(found):
        raise InvalidParameter(f"{source} takes no parameters; leave {min(parameters)!r} out")
    return found(**parameters)


def features_of(text: str | None) -> Any:
    """The features that a text names; none, and 'auto', as they are."""
    from didact.files.extras import named_object

    return text if text in (None, "auto") else named_object(str(text), "--features")


def agent_of(text: str, env: Any, trust_pickle: bool) -> Any:
    """The policy that a text names; a trained agent is built for the environment's spaces."""
    from didact.files.extras import named_object
    from didact.worlds.gym.runs import names_agent
    from didact.worlds.gym.trained import load_agent, refuse_pickle

    if not names_agent(text):
        refuse_pickle(text)
        return named_object(text, "--policy")
    return load_agent(text, env, trust_pickle=trust_pickle)
