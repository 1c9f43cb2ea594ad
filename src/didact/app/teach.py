"""Teach a task and check lessons: the use cases behind `didact teach` and `didact check`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from didact.bec.rows import Scope
from didact.errors import DidactError
from didact.files.json import read_json, require_writable
from didact.mdp import Task
from didact.mdp.files import demonstrations_in, task_document
from didact.proofcheck import ProofError, check_proof
from didact.teaching import Lesson, Verdict, check, teach
from didact.teaching.lesson import LESSON_FORMAT
from didact.worlds.opening import open_task

TAUGHT, NOT_TAUGHT, PROOF_FAILED = 0, 3, 4


class ProofFailed(DidactError):
    """The independent checker did not accept a proof."""


@dataclass(frozen=True, eq=False)
class Taught:
    """A task, a lesson for it, and what the independent checker said of its proof."""

    task: Task
    lesson: Lesson
    verified: str | None

    @property
    def exit_code(self) -> int:
        """0 when the task is taught, 3 when something stays open."""
        return TAUGHT if self.lesson.is_complete else NOT_TAUGHT


def teach_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    out: str | None = None,
    **settings: Any,
) -> Taught:
    """A lesson for the task that `source` names, its proof checked independently.

    out: save it there; the place is tried before the work.
    """
    if out is not None:
        require_writable(out)
    task = open_task(source, parameters)
    lesson = teach(task, **settings)
    verified = None if lesson.proof is None else verify(task, lesson.document())
    if out is not None:
        lesson.save(out)
    return Taught(task, lesson, verified)


def verify(task: Task, document: Mapping[str, Any]) -> str:
    """The line of the independent checker on a proof or lesson; raises ProofFailed."""
    try:
        return check_proof(_as_read(task_document(task)), _as_read(document))
    except ProofError as error:
        raise ProofFailed(f"the proof failed: {error}") from None


def _as_read(document: Mapping[str, Any]) -> Any:
    """The object as it comes out of a file, decimals as text."""
    return json.loads(json.dumps(dict(document), default=str), parse_float=str)


@dataclass(frozen=True, eq=False)
class Checked:
    """A task, a verdict on demonstrations for it, and what the checker said of a proof."""

    task: Task
    verdict: Verdict
    n_demonstrations: int
    verified: str | None

    @property
    def exit_code(self) -> int:
        """0 when they teach the task, else 3."""
        return TAUGHT if self.verdict.teaches else NOT_TAUGHT

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        verdict = self.verdict
        return {
            "task": self.task.name,
            "teaches": verdict.teaches,
            "n_demonstrations": self.n_demonstrations,
            "wrong": [vars(pair) for pair in verdict.wrong],
            "witness": None if verdict.witness is None else [str(w) for w in verdict.witness],
            "loss": verdict.loss,
            "missing": None if verdict.missing is None else list(verdict.missing),
            "missing_words": verdict.missing_words,
            "closed": verdict.closed,
            "n_open": verdict.n_open,
            "n_close_calls": verdict.n_close_calls,
            "n_facets": verdict.n_facets,
            "n_equalities": verdict.n_equalities,
            "arithmetic": verdict.arithmetic,
            "verified": self.verified,
            "proof": None if verdict.proof is None else dict(verdict.proof),
        }


def check_source(
    source: str,
    path: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    proof: bool = False,
    scope: Scope | None = None,
    **settings: Any,
) -> Checked:
    """Whether the demonstrations in a file teach the task that `source` names.

    proof: also run the independent checker on the proof in a lesson file, or on a fresh one.
    scope: by default that of a lesson file, else 'reachable'.
    """
    task = open_task(source, parameters)
    given = read_json(path)
    shown = demonstrations_in(given, task.mdp, path)
    is_lesson = isinstance(given, dict) and given.get("format") == LESSON_FORMAT
    verdict = check(task, shown, scope=scope or _scope_of(given, is_lesson), **settings)
    verified = None
    if proof and is_lesson and given.get("proof") is not None:
        verified = verify(task, given)
    elif proof and verdict.proof is not None:
        verified = verify(task, verdict.proof)
    elif proof and not verdict.wrong:
        raise ProofFailed("there is no proof to check: floats prove nothing")
    return Checked(task, verdict, len(shown), verified)


def _scope_of(given: Any, is_lesson: bool) -> Scope:
    settings = given.get("settings") if is_lesson else None
    return "all" if isinstance(settings, dict) and settings.get("scope") == "all" else "reachable"
