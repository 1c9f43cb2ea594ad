"""Write the page of a result: what `lesson.report(path)` and its like do.

The proof of a lesson is checked by the independent checker before the page says so.
"""

from __future__ import annotations

import os
from functools import singledispatch
from pathlib import Path
from typing import Any

from didact.auditing import Exam
from didact.files.json import write_text
from didact.files.kinds import PAGE
from didact.mdp import Family, Task, as_family, as_task
from didact.report.page.family import family_page, frontier_page
from didact.report.page.findings import finding_page
from didact.report.page.items import exam_page, mixed_lesson_page
from didact.report.page.lesson import lesson_page
from didact.teaching import Frontier, Lesson
from didact.teaching.lesson import verified_lesson

EXACT_UP_TO = 20_000
"""Pages are exact and proved up to so many states times features, so that none takes long."""


@singledispatch
def write_page(result: Any, path: str | os.PathLike[str]) -> Any:
    """Write the page of a result, chosen by its type; by default that of a finding."""
    write_text(finding_page(result), path, kind=PAGE)


@write_page.register
def _(lesson: Lesson, path: str | os.PathLike[str], *, task: Any, **shown: Any) -> None:
    """The page of a lesson for a task or a family, its proof checked.

    shown: options of `lesson_page`; `audience` is of tasks only, and a mix takes none.
    """
    if lesson.is_mixed:
        whole = as_family(task, "task") if lesson.is_of_family else as_task(task)
        page = mixed_lesson_page(whole, lesson)
    elif isinstance(task, Family):
        shown.pop("audience", None)
        shown.setdefault("bec", lesson.bec)
        page = family_page(task, lesson, verified=verified_lesson(task, lesson), **shown)
    else:
        own = lesson.bec is not None and lesson.bec.source is task
        shown.setdefault("bec", lesson.bec if own else None)
        page = lesson_page(task, lesson, verified=verified_lesson(task, lesson), **shown)
    write_text(page, path, kind=PAGE)


@write_page.register
def _(found: Frontier, path: str | os.PathLike[str]) -> None:
    write_text(frontier_page(found), path, kind=PAGE)


@write_page.register
def _(made: Exam, path: str | os.PathLike[str], *, task: Task | Family) -> tuple[str, ...]:
    """The sheet of an exam, and the key beside it; where they are."""
    pages = os.fspath(path), key_path(path)
    for place, key in zip(pages, (False, True), strict=True):
        write_text(exam_page(task, made, key=key), place, kind=PAGE)
    return pages


def key_path(html: str | os.PathLike[str]) -> str:
    """Where the key goes: exam.html has exam-key.html beside it."""
    path = Path(html)
    return str(path.with_name(f"{path.stem}-key{path.suffix}"))
