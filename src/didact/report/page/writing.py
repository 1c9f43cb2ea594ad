"""Write the page of a result: what `lesson.report(path)` and its like do.

The proof of a lesson is checked by the independent checker before the page says so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from didact.auditing import Exam
from didact.files.json import write_text
from didact.files.kinds import PAGE
from didact.mdp import Family, Task, as_family, as_task
from didact.report.page.family import family_page, frontier_page
from didact.report.page.items import exam_page, mixed_lesson_page
from didact.report.page.lesson import lesson_page
from didact.teaching import Frontier, Lesson
from didact.teaching.lesson import verified_lesson

EXACT_UP_TO = 20_000
"""Pages are exact and proved up to so many states times features, so that none takes long."""


def write_lesson_page(
    task: Task, lesson: Lesson, path: str | os.PathLike[str], **shown: Any
) -> None:
    """Write the page of a lesson, its proof checked; shown: options of `lesson_page`."""
    page = lesson_page(task, lesson, verified=verified_lesson(task, lesson), **shown)
    write_text(page, path, kind=PAGE)


def write_family_page(
    family: Family, lesson: Lesson, path: str | os.PathLike[str], **shown: Any
) -> None:
    """Write the page of a family's lesson, its proof checked."""
    page = family_page(family, lesson, verified=verified_lesson(family, lesson), **shown)
    write_text(page, path, kind=PAGE)


def write_mixed_page(task: Task | Family, lesson: Lesson, path: str | os.PathLike[str]) -> None:
    """Write the page of a lesson of several kinds of feedback."""
    whole = as_family(task, "task") if lesson.is_of_family else as_task(task)
    write_text(mixed_lesson_page(whole, lesson), path, kind=PAGE)


def write_frontier_page(found: Frontier, path: str | os.PathLike[str]) -> None:
    """Write the page of a frontier."""
    write_text(frontier_page(found), path, kind=PAGE)


def write_exam_pages(
    task: Task | Family, made: Exam, html: str | os.PathLike[str]
) -> tuple[str, ...]:
    """Write the sheet of an exam, and the key beside it; where they are."""
    pages = os.fspath(html), key_path(html)
    for place, key in zip(pages, (False, True), strict=True):
        write_text(exam_page(task, made, key=key), place, kind=PAGE)
    return pages


def key_path(html: str | os.PathLike[str]) -> str:
    """Where the key goes: exam.html has exam-key.html beside it."""
    path = Path(html)
    return str(path.with_name(f"{path.stem}-key{path.suffix}"))
