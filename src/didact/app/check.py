"""Check demonstrations that people bring: the use case behind `didact check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.halfspaces import Scope
from didact.errors import InvalidFile, InvalidInput, Unsupported
from didact.files.json import read_json
from didact.files.reading import shown_path
from didact.mdp import Demonstration, Family, Task, family_demonstrations
from didact.mdp.items import Item
from didact.mdp.recordings.formats import demonstrations_in, feedback_in, read_file
from didact.numerics.texts import number_text, number_texts
from didact.teaching import Verdict, check, load_lesson
from didact.teaching.check import SuggestedStarts, further_starts
from didact.teaching.lesson import LESSON_FORMAT, verify
from didact.teaching.loss.search import Worst, remaining_loss
from didact.worlds.opening import open_task_or_family

NEEDS_EXACT = (
    "a proof needs exact arithmetic, and floats prove nothing; use --arithmetic exact or leave "
    "--proof out"
)


@dataclass(frozen=True, eq=False)
class Checked:
    """A task or family, a verdict on demonstrations, and what the checker said of a proof.

    suggested_starts: where demonstrations that complete the right steps would begin; None where
    they teach, where no starts do it, and for families. costs: what the right steps may still cost
    each kind of learner, where that was asked for.
    """

    task: Task | Family
    verdict: Verdict
    n_demonstrations: int
    verified: str | None
    suggested_starts: SuggestedStarts | None = None
    costs: tuple[Worst, ...] = ()

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        verdict = self.verdict
        return {
            "task": self.task.name,
            "teaches": verdict.teaches,
            "right_teaches": verdict.right_teaches,
            "n_demonstrations": self.n_demonstrations,
            "n_steps": verdict.n_steps,
            "wrong": verdict.to_records(),
            "segments": [segment.to_dict() for segment in verdict.segments],
            "witness": number_texts(verdict.witness),
            "loss": verdict.loss,
            "missing": None if verdict.missing is None else list(verdict.missing),
            "missing_words": verdict.missing_words,
            "way_out": None if self.suggested_starts is None else self.suggested_starts.to_dict(),
            "closed": verdict.closed,
            "n_open": verdict.n_open,
            "n_close_calls": verdict.n_close_calls,
            "n_facets": verdict.n_facets,
            "n_equalities": verdict.n_equalities,
            "arithmetic": verdict.arithmetic,
            "wrong_items": [wrong.to_dict() for wrong in verdict.wrong_items],
            "hardest": None if verdict.hardest is None else number_text(verdict.hardest),
            "verified": self.verified,
            "proof": None if verdict.proof is None else dict(verdict.proof),
            **({"costs": [worst.to_dict() for worst in self.costs]} if self.costs else {}),
        }


def check_source(
    source: str,
    path: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    proof: bool = False,
    loss: bool = False,
    scope: Scope | None = None,
    **settings: Any,
) -> Checked:
    """Whether the demonstrations in a file teach the task that `source` names.

    proof: also run the independent checker on the proof in a lesson file, or on a fresh one, which
    is about the right steps alone where some are wrong.
    loss: also find what the right steps may still cost.
    scope: by default that of a lesson file, else 'reachable'.
    """
    task = open_task_or_family(source, parameters)
    items = feedback_in(path, task)
    if items is not None:
        if loss:
            raise Unsupported("what may be lost is found for demonstrations only; leave loss out")
        return _checked_items(task, path, items, scope, proof=proof)
    shown, lesson = _of_family(task, path) if isinstance(task, Family) else _of_task(task, path)
    asked = scope or _scope_of(lesson)
    own = lesson.get("proof")
    answers = isinstance(own, Mapping) and own.get("scope") == asked  # not about other states
    if proof and not answers and settings.get("arithmetic") == "float":
        raise Unsupported(NEEDS_EXACT)
    if isinstance(task, Task) or loss:
        settings["known"] = equivalence_class(task, scope=asked, **settings)
    verdict = check(task, shown, scope=asked, **settings)
    verified = None
    if proof and own is not None:
        verified = verify(task, lesson)
    if proof and not answers:
        if verdict.proof is None:
            raise Unsupported(NEEDS_EXACT)
        verified = verify(task, verdict.proof)
    known = settings.get("known")
    costs = remaining_loss(known, [s.shown for s in verdict.segments]) if loss and known else ()
    return Checked(task, verdict, len(shown), verified, _suggested_starts(verdict, known), costs)


def _checked_items(
    task: Task | Family, path: str, items: Sequence[Item], scope: Scope | None, *, proof: bool
) -> Checked:
    """The verdict on a mix; the proof of a lesson file is checked, else a fresh one."""
    lesson: Mapping[str, Any] = {}
    if path.endswith(".json"):
        document = read_json(path)
        if isinstance(document, dict) and document.get("format") == LESSON_FORMAT:
            lesson = load_lesson(path).document()
    asked = scope or _scope_of(lesson)
    verdict = check(task, list(items), scope=asked)
    own = lesson.get("proof")
    verified = verify(task, lesson) if proof and own is not None else None
    if proof and verdict.proof is not None and (own is None or own["scope"] != asked):
        verified = verify(task, verdict.proof)
    return Checked(task, verdict, len(items), verified)


def _suggested_starts(verdict: Verdict, known: EquivalenceClass | None) -> SuggestedStarts | None:
    if known is None or known.is_family or verdict.missing is None:
        return None
    return further_starts(known, [segment.shown for segment in verdict.segments])


def _of_task(task: Task, path: str) -> tuple[tuple[Demonstration, ...], Mapping[str, Any]]:
    """The demonstrations in a file, and the lesson that it is."""
    recording = read_file(path)
    return demonstrations_in(recording, task, path), recording.lesson or {}


def _of_family(family: Family, path: str) -> tuple[tuple[Demonstration, ...], Mapping[str, Any]]:
    """The same of a family: a lesson file, or a list of [member, pairs]."""
    document = read_json(path)
    is_lesson = isinstance(document, dict) and document.get("format") == LESSON_FORMAT
    if is_lesson:
        document = load_lesson(path).document()
    given = document["demonstrations"] if is_lesson else document
    try:
        return family_demonstrations(given, family), document if is_lesson else {}
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _scope_of(lesson: Mapping[str, Any]) -> Scope:
    settings = lesson.get("settings")
    return "all" if isinstance(settings, dict) and settings.get("scope") == "all" else "reachable"
