"""A lesson as the studio shows it: the verdict, its parts, and what the checker says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from didact.app.explain import EXACT_UP_TO
from didact.app.teach import lesson_with
from didact.app.verify import verify
from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.halfspaces import Scope
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import choice, counted, shown, whole_number
from didact.mdp import Family, Task
from didact.report.page.facts import Facts, gather
from didact.report.page.family import family_page, frontier_page
from didact.report.page.lesson import lesson_piece
from didact.report.page.words import proof_words, verdict_words
from didact.report.words.lessons import status_words
from didact.stages import stage
from didact.teaching import Lesson, frontier
from didact.teaching.lesson import FEWEST

TEACHERS = ("exact", "scot")
COSTS = ("demonstrations", "pairs")
SCOPES = ("reachable", "all")
LOSSES = ("0%", "1%", "5%", "10%", "20%")
"""What a learner may lose after a lesson that is good enough; 0%: nothing is left open."""
LOSS_TIME = 20.0
"""Seconds to look for such a lesson."""
SETTINGS = {"teacher", "cost", "scope", "horizon", "loss"}


def read_settings(given: Any) -> dict[str, Any]:
    """Settings of `teach` that a page may choose, checked."""
    if not isinstance(given, dict) or not {*given} <= SETTINGS:
        raise InvalidParameter(
            f"settings must be a table of {', '.join(sorted(SETTINGS))}; it is {shown(given)}"
        )
    horizon = given.get("horizon")
    return {
        "teacher": choice(given.get("teacher", "exact"), "teacher", TEACHERS),
        "cost": choice(given.get("cost", "demonstrations"), "cost", COSTS),
        "scope": choice(given.get("scope", "reachable"), "scope", SCOPES),
        "horizon": None if horizon is None else whole_number(horizon, "horizon", 1, 1000),
        "loss": choice(given.get("loss", "0%"), "loss", LOSSES),
    }


def teach_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `lesson_with` takes them; the class decides the scope."""
    rest = {name: settings[name] for name in ("teacher", "cost", "horizon")}
    good_enough = {"loss": settings["loss"], "loss_time": LOSS_TIME}
    return rest if settings["loss"] == LOSSES[0] else {**rest, **good_enough}


def class_for(task: Task, scope: Scope) -> EquivalenceClass:
    """The class of a task; exact while that does not take long."""
    exact = task.mdp.n_states * task.mdp.n_features <= EXACT_UP_TO
    return equivalence_class(task, scope=scope, arithmetic="exact" if exact else "float")


def lesson_for(task: Task, settings: Mapping[str, Any]) -> tuple[EquivalenceClass, Lesson]:
    """The class of a task and a lesson for it."""
    known = class_for(task, settings["scope"])
    return known, lesson_with(task, known=known, **teach_settings(settings))


def taught(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict in words and numbers, the lesson's parts as HTML, and its document."""
    settings = read_settings(question.get("settings", {}))
    if isinstance(subject, Family):
        return _family_taught(subject, settings)
    known, lesson = lesson_for(subject, settings)
    verified = None if lesson.proof is None else verify(subject, lesson.document())
    facts = gather(subject, lesson, known)
    return {**_verdict(facts, verified), "html": lesson_piece(facts, verified=verified)}


def frontier_of(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """What more demonstrations are worth: the cheapest lessons within bounds of loss, as HTML."""
    if isinstance(subject, Family):
        raise Unsupported("a frontier is of one world; open a member of the family alone")
    settings = read_settings(question.get("settings", {}))
    known = class_for(subject, settings["scope"])
    rest = {name: settings[name] for name in ("teacher", "cost", "horizon")}
    found = frontier(
        subject,
        known=known,
        time_limit=LOSS_TIME,
        progress=lambda loss: stage(f"a lesson after which {loss} may be lost"),
        **rest,
    )
    return {"html": frontier_page(found, layout="piece.html.jinja"), "points": found.to_records()}


def _verdict(facts: Facts, verified: str | None) -> dict[str, Any]:
    lesson = facts.lesson
    proof, sentence = proof_words(facts, verified)
    return {
        "words": verdict_words(facts),
        "status": lesson.status,
        "is_complete": lesson.is_complete,
        "proof": proof,
        "proof_sentence": sentence,
        "verified": verified,
        "is_fewest": FEWEST in (verified or ""),
        "numbers": [
            counted(len(lesson.demonstrations), "demonstration"),
            counted(lesson.n_pairs, "step"),
            f"{facts.n_covered} of {counted(len(facts.said), 'constraint')}",
        ],
        "demonstrations": [[list(pair) for pair in shown] for shown in lesson.demonstrations],
        "loss_bound": lesson.loss_bound,
        "loss_status": lesson.loss_status,
    }


def _family_taught(family: Family, settings: Mapping[str, Any]) -> dict[str, Any]:
    known = equivalence_class(family, scope=settings["scope"], arithmetic="auto")
    lesson = lesson_with(family, known=known, **teach_settings(settings))
    verified = None if lesson.proof is None else verify(family, lesson.document())
    pieces = family_page(family, lesson, known=known, verified=verified, layout="piece.html.jinja")
    return {
        "words": f"{counted(len(lesson.demonstrations), 'demonstration')}: {status_words(lesson)}.",
        "status": lesson.status,
        "is_complete": lesson.is_complete,
        "proof": "Numerical, not proved" if lesson.proof is None else "Proof verified",
        "proof_sentence": verified or "",
        "verified": verified,
        "is_fewest": FEWEST in (verified or ""),
        "numbers": [
            counted(len(family.members), "world"),
            counted(len(lesson.demonstrations), "demonstration"),
            counted(lesson.n_pairs, "step"),
        ],
        "demonstrations": [[list(pair) for pair in shown] for shown in lesson.demonstrations],
        "html": pieces,
    }
