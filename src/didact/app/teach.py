"""Teach a task: the use case behind `didact teach`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from didact.errors import InvalidParameter, Unsupported
from didact.files.json import require_writable
from didact.files.kinds import PAGE, json_kind
from didact.mdp import Family, Task
from didact.teaching import (
    Frontier,
    Lesson,
    frontier,
    teach,
    teach_mixed,
    teach_robust,
    teach_within,
)
from didact.teaching.check import SuggestedStarts, suggested_starts
from didact.teaching.lesson import LESSON_FORMAT, verified_lesson, verify
from didact.worlds.opening import open_task_or_family


@dataclass(frozen=True, eq=False)
class Taught:
    """A task or a family, a lesson for it, and what the independent checker said of its proof."""

    task: Task | Family
    lesson: Lesson
    verified: str | None

    def suggested_starts(self) -> SuggestedStarts | None:
        """Starts from which the lesson is complete; None where it is, or where none do it."""
        if self.lesson.status != "partial" or isinstance(self.task, Family):
            return None
        return suggested_starts(self.task, self.lesson)

    def document(self) -> dict[str, Any]:
        """The lesson for machines; with `suggested_starts` where it leaves something open."""
        lesson = self.lesson.document()
        asked_for_all = self.lesson.status == "partial" and self.lesson.within is None
        if not asked_for_all or isinstance(self.task, Family):
            return lesson
        found = self.suggested_starts()
        return {**lesson, "way_out": None if found is None else found.to_dict()}


def mix_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    feedback: tuple[str, ...],
    out: str | None = None,
    **settings: Any,
) -> Taught:
    """The cheapest mix of these kinds for what `source` names; out: save it there.

    settings: all options of the command; those that only demonstrations have are refused.
    """
    usual = {"teacher": ("scot", "exact"), "cost": ("demonstrations",), "closed": (False,)}
    for name in ("teacher", "cost", "closed", "loss", "order"):
        if settings.get(name) in usual.get(name, (None,)):
            settings.pop(name, None)
    for name in ("learner", "loss_time", "trim"):  # of demonstrations, and harmless beside others
        settings.pop(name, None)
    if out is not None:
        require_writable(out, json_kind(LESSON_FORMAT), [source])
    task = open_task_or_family(source, parameters)
    lesson = teach_mixed(task, feedback, **settings)
    verified = verify(task, lesson.document())
    if out is not None:
        lesson.save(out)
    return Taught(task, lesson, verified)


def frontier_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    out: str | None = None,
    **settings: Any,
) -> tuple[Task | Family, Frontier]:
    """The task or family that `source` names, and its frontier; out: write its page there."""
    if out is not None:
        require_writable(out, PAGE, [source])
    task = open_task_or_family(source, parameters)
    if out is not None and isinstance(task, Family):
        from didact.report.page.family import NO_PAGE

        raise Unsupported(NO_PAGE)
    found = frontier(task, **settings)
    if out is not None:
        found.report(out)
    return task, found


def lesson_with(
    task: Task | Family,
    *,
    loss: Any = None,
    learner: str = "both",
    loss_time: float | None = None,
    lies: int | None = None,
    detect: bool = False,
    **settings: Any,
) -> Lesson:
    """The lesson of `teach`; of `teach_within` with a bound on the loss; of `teach_robust`."""
    if lies is not None:
        names = ("horizon", "starts", "cost", "scope", "min_probability", "time_limit")
        kept = {name: settings[name] for name in names if settings.get(name) is not None}
        if loss is not None or settings.get("closed") or settings.get("budget") is not None:
            raise InvalidParameter("lies do not go with loss, closed and budget; leave these out")
        return teach_robust(task, lies, detect=detect, **kept)
    if loss is None:
        return teach(task, **settings)
    limit = settings.pop("time_limit", None) if loss_time is None else loss_time
    return teach_within(task, loss, learner=learner, time_limit=limit, **settings)


def teach_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    out: str | None = None,
    **settings: Any,
) -> Taught:
    """A lesson for the task or family that `source` names, its proof checked independently.

    out: save it there; the place is tried before the work.
    """
    if out is not None:
        require_writable(out, json_kind(LESSON_FORMAT), [source])
    task = open_task_or_family(source, parameters)
    lesson = lesson_with(task, **settings)
    verified = verified_lesson(task, lesson)
    if out is not None:
        lesson.save(out)
    return Taught(task, lesson, verified)
