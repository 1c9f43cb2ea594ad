"""`didact check`: do these demonstrations teach this world?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from didact.cli import options, printing
from didact.errors import InvalidFile, InvalidInput, Unsupported

if TYPE_CHECKING:
    from didact.bec.halfspaces import Scope
    from didact.mdp import Demonstration, Family, Task
    from didact.mdp.items import Item
    from didact.teaching import Verdict
    from didact.teaching.check import SuggestedStarts
    from didact.teaching.loss.search import Worst

NEEDS_EXACT = (
    "a proof needs exact arithmetic, and floats prove nothing; use --arithmetic exact or leave "
    "--proof out"
)


@click.command("check")
@options.world("a random world")
@click.argument("demonstrations")
@click.option(
    "--scope",
    type=click.Choice(["reachable", "all"]),
    help="Whose behaviour counts: states reachable from the start, or all; lessons say it.",
)
@options.arithmetic()
@click.option("--proof", is_flag=True, help="Run the independent checker on the proof too.")
@click.option("--loss", is_flag=True, help="Say what learners may still lose after them.")
@options.output()
def command(
    world: options.NamedWorld,
    demonstrations: str,
    output: printing.Output,
    **given: Any,
) -> int:
    """Say whether DEMONSTRATIONS teach WORLD.

    They are a lesson, or a recording as `didact convert` reads it: JSON, JSON lines, CSV, a Minari
    dataset on this machine, or a folder that imitation reads; of a family JSON, a list of [member,
    pairs]. Where steps are wrong, they are listed with what they cost, and the verdict is about the
    right steps alone. Exit code 0: all steps are right and they teach it; 3: they do not, or some
    steps are wrong; 4: the proof failed.
    """
    from didact.report.words.verdicts import describe_verdict

    with printing.waiting(f"checking {demonstrations}"):
        task = world.open()
        checked = check_file(task, demonstrations, **given)
    verdict, verified = checked.verdict, checked.verified
    said = describe_verdict(
        *(task, verdict, checked.n_demonstrations, verified),
        further=checked.suggested_starts,
        costs=checked.costs,
    )
    output.show(lambda: _document(task, checked), said.lines(details=output.details))
    return printing.exit_code(verdict.teaches)


class Checked(NamedTuple):
    """A verdict on demonstrations, and what the checker said of a proof.

    suggested_starts: where demonstrations that complete the right steps would begin; None where
    they teach, where no starts do it, and for families. costs: what the right steps may still cost
    each kind of learner, where that was asked for.
    """

    verdict: Verdict
    n_demonstrations: int
    verified: str | None
    suggested_starts: SuggestedStarts | None = None
    costs: tuple[Worst, ...] = ()


def _document(task: Task | Family, checked: Checked) -> dict[str, Any]:
    """The same for machines."""
    from didact.numerics.texts import number_text, number_texts

    verdict, starts = checked.verdict, checked.suggested_starts
    return {
        "task": task.name,
        "teaches": verdict.teaches,
        "right_teaches": verdict.right_teaches,
        "n_demonstrations": checked.n_demonstrations,
        "n_steps": verdict.n_steps,
        "wrong": verdict.to_records(),
        "segments": [segment.to_dict() for segment in verdict.segments],
        "witness": number_texts(verdict.witness),
        "loss": verdict.loss,
        "missing": None if verdict.missing is None else list(verdict.missing),
        "missing_words": verdict.missing_words,
        "way_out": None if starts is None else starts.to_dict(),
        "closed": verdict.closed,
        "n_open": verdict.n_open,
        "n_close_calls": verdict.n_close_calls,
        "n_facets": verdict.n_facets,
        "n_equalities": verdict.n_equalities,
        "arithmetic": verdict.arithmetic,
        "wrong_items": [wrong.to_dict() for wrong in verdict.wrong_items],
        "hardest": None if verdict.hardest is None else number_text(verdict.hardest),
        "verified": checked.verified,
        "proof": None if verdict.proof is None else dict(verdict.proof),
        **({"costs": [worst.to_dict() for worst in checked.costs]} if checked.costs else {}),
    }


def check_file(
    task: Task | Family,
    path: str,
    *,
    proof: bool = False,
    loss: bool = False,
    scope: Scope | None = None,
    **settings: Any,
) -> Checked:
    """Whether the demonstrations in a file teach a task or a family.

    proof: also run the independent checker on the proof in a lesson file, or on a fresh one, which
    is about the right steps alone where some are wrong.
    loss: also find what the right steps may still cost.
    scope: by default that of a lesson file, else 'reachable'.
    """
    from didact.bec.classes import equivalence_class
    from didact.mdp import Family, Task
    from didact.mdp.recordings.formats import demonstrations_in, feedback_in, read_file
    from didact.teaching import check
    from didact.teaching.check import further_starts
    from didact.teaching.lesson import verify
    from didact.teaching.loss.search import remaining_loss

    items = feedback_in(path, task)
    if items is not None:
        if loss:
            raise Unsupported("what may be lost is found for demonstrations only; leave loss out")
        return _checked_items(task, path, items, scope, proof=proof)
    lesson: Mapping[str, Any]
    if isinstance(task, Family):
        shown, lesson = _of_family(task, path)
    else:
        recording = read_file(path)
        shown, lesson = demonstrations_in(recording, task, path), recording.lesson or {}
    asked = scope or _scope_of(lesson)
    own = lesson.get("proof")
    answers = isinstance(own, Mapping) and own.get("scope") == asked  # not about other states
    if proof and not answers and settings.get("arithmetic") == "float":
        raise Unsupported(NEEDS_EXACT)
    bec = None
    if isinstance(task, Task) or loss:
        settings["bec"] = bec = equivalence_class(task, scope=asked, **settings)
    verdict = check(task, shown, scope=asked, **settings)
    verified = verify(task, lesson) if proof and own is not None else None
    if proof and not answers:
        if verdict.proof is None:
            raise Unsupported(NEEDS_EXACT)
        verified = verify(task, verdict.proof)
    right, starts = [segment.shown for segment in verdict.segments], None
    if bec is not None and not bec.is_family and verdict.missing is not None:
        starts = further_starts(bec, right)
    costs = remaining_loss(bec, right) if loss and bec else ()
    return Checked(verdict, len(shown), verified, starts, costs)


def _checked_items(
    task: Task | Family, path: str, items: Sequence[Item], scope: Scope | None, *, proof: bool
) -> Checked:
    """The verdict on a mix; the proof of a lesson file is checked, else a fresh one."""
    from didact.teaching import check
    from didact.teaching.lesson import verify

    lesson = _lesson_in(path)[1] if path.endswith(".json") else {}
    asked = scope or _scope_of(lesson)
    verdict = check(task, list(items), scope=asked)
    own = lesson.get("proof")
    verified = verify(task, lesson) if proof and own is not None else None
    if proof and verdict.proof is not None and (own is None or own["scope"] != asked):
        verified = verify(task, verdict.proof)
    return Checked(verdict, len(items), verified)


def _lesson_in(path: str) -> tuple[Any, Mapping[str, Any]]:
    """What a JSON file holds, and the lesson that it is; else an empty one."""
    from didact.files.json import read_json
    from didact.teaching import load_lesson
    from didact.teaching.lesson import LESSON_FORMAT

    document = read_json(path)
    if not isinstance(document, dict) or document.get("format") != LESSON_FORMAT:
        return document, {}
    return document, load_lesson(path).document()


def _of_family(family: Family, path: str) -> tuple[tuple[Demonstration, ...], Mapping[str, Any]]:
    """The same of a family: a lesson file, or a list of [member, pairs]."""
    from didact.files.reading import shown_path
    from didact.mdp import family_demonstrations

    document, lesson = _lesson_in(path)
    try:
        return family_demonstrations(
            lesson["demonstrations"] if lesson else document, family
        ), lesson
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _scope_of(lesson: Mapping[str, Any]) -> Scope:
    settings = lesson.get("settings")
    return "all" if isinstance(settings, dict) and settings.get("scope") == "all" else "reachable"
