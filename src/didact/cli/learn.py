"""`didact learn`: what a learner makes of demonstrations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter

if TYPE_CHECKING:
    from didact.learners import Belief
    from didact.learners.risk import Fit
    from didact.mdp import Task
    from didact.planning import Evaluation

WHOLE = options.AnyWhole()
MEASURES = ("policy_loss", "worst_policy_loss", "wrong_actions", "worst_wrong_actions")


@click.command("learn")
@options.world("a random world and the learner")
@click.argument("demonstrations")
@options.text(
    "--learner",
    "birl",
    "birl, bio-irl, ml-irl, policy-matching, max-entropy, or one of your own.",
)
@click.option("--confidence", type=float, help="How strongly the teacher prefers better actions.")
@click.option("--lies", type=WHOLE, help="So many of the demonstrations may be forged (birl).")
@click.option(
    "--max-likelihoods", type=WHOLE, help="Likelihoods to compute until the chains have mixed."
)
@click.option("--n-steps", type=WHOLE, help="Walk so many steps in each chain instead.")
@click.option("--n-chains", type=WHOLE, help="How many chains.")
@click.option("--step-size", type=float, help="How far a walk steps; by default it adapts.")
@click.option("--prior", help="Where weights lie: l2-sphere, l1-sphere, box, gaussian.")
@click.option("--burn-in", type=WHOLE, help="First steps of each walk that are not kept.")
@options.settings_of(
    "learner", "Another option of the learner, as threads=1 for birl; may be given again."
)
@options.file("--out", help="Write the belief to this file (.npz).")
@options.output()
def command(
    world: options.NamedWorld,
    demonstrations: str,
    learner: str,
    learner_settings: tuple[str, ...],
    out: str | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Learn what WORLD rewards from DEMONSTRATIONS.

    They are a lesson, or a recording as `didact convert` reads it: JSON, JSON lines, CSV, a Minari
    dataset on this machine, or a folder that imitation reads. JSON and JSON lines may also hold
    comparisons, preferences, corrections, rankings and stops (for birl, ml-irl and max-entropy).
    Of a family JSON: a lesson, or a list of [member, pairs].
    Prints the likely weights by feature, how far they can be trusted, and how the learned policy
    fares.
    """
    from didact.files.json import require_writable
    from didact.files.kinds import archive_kind
    from didact.learners.evidence import as_one_model
    from didact.learners.files import BELIEF_FORMAT
    from didact.learners.learn import find_learner
    from didact.mdp.recordings.formats import given_items
    from didact.planning import evaluate

    choices = {name: value for name, value in given.items() if value is not None}
    choices |= _learner_options(learner_settings, choices)
    with _told(f"learning from {demonstrations}") as progress:
        find_learner(learner, choices)
        task, given_ones = as_one_model(world.open(), demonstrations)
        shown = given_items(given_ones, task)
        if out is not None:  # tried before the learner runs
            require_writable(out, archive_kind(BELIEF_FORMAT), [world.name, demonstrations])
        belief = _learned(task, shown, learner, progress, {**choices, "seed": world.seed or 0})
        if out is not None:
            belief.save(out)
        fit = None if belief.confidence is None else belief.fit()
        evaluation = evaluate(task, belief.policy())
    from didact.report.terminal.tables import draw_belief

    drawing = partial(draw_belief, task, belief, evaluation, fit, details=output.details)
    output.draw(lambda: _document(task, belief, evaluation, fit), drawing, [out])
    return 0


def _learned(task: Task, shown: Any, learner: str, progress: Any, given: dict[str, Any]) -> Belief:
    """What a learner believes; progress is told where the learner tells it."""
    from didact.errors import NotMixed
    from didact.learners import learn
    from didact.learners.learn import option_names

    if progress is not None and "progress" in (option_names(learner) or ()):
        given["progress"] = progress
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotMixed)  # what is printed says it
        return learn(task.mdp, shown, learner=learner, **given)


def _document(task: Task, belief: Belief, evaluation: Evaluation, fit: Fit | None) -> Any:
    """The same for machines; what does not exist, as R-hat of a point, is null."""
    from didact.inputs import plain_document

    told = belief.to_dict()
    settings = told.pop("settings")
    measured = plain_document({name: getattr(evaluation, name) for name in MEASURES})
    fitted = None if fit is None else plain_document(fit.to_dict())
    return {
        "task": task.name,
        **told,
        "evaluation": measured,
        "fit": fitted,
        "settings": settings,
    }


def _learner_options(texts: tuple[str, ...], known: dict[str, Any]) -> dict[str, Any]:
    """Options of the learner, decimals as floats; none twice."""
    given = options.read_options(texts)
    for name in given:
        if name in known or name in ("progress", "learner", "seed"):
            raise InvalidParameter(
                f"{name!r} must not be given as an option of the learner; "
                "`didact learn` has an option for it"
            )
    return given


@contextmanager
def _told(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A spinner on standard error, a bar once steps are told; only where a person watches."""
    with printing.progress_bar("Spinner", "Text", "Bar", "TimeRemaining") as bar:
        if bar is None:
            yield None
            return
        from didact.learners.chains.birl import ShownBar

        yield ShownBar(bar, printing.printable(what))
