"""Make an exam for a task: the use case behind `didact exam`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from didact.app.check import NEEDS_EXACT
from didact.auditing import Exam, exam
from didact.auditing.exam import EXAM_FORMAT
from didact.errors import Unsupported
from didact.files.json import require_writable
from didact.files.kinds import PAGE, json_kind
from didact.mdp import Family, Task
from didact.report.page.writing import key_path, write_exam_pages
from didact.teaching.lesson import verify
from didact.worlds.opening import open_task_or_family


@dataclass(frozen=True, eq=False)
class Examined:
    """A task or a family and an exam for it; pages: the sheet and its key, where written.

    verified: what the independent checker said of its proof, where that was asked for.
    """

    task: Task | Family
    exam: Exam
    pages: tuple[str, ...]
    verified: str | None = None


def exam_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    out: str | None = None,
    html: str | None = None,
    proof: bool = False,
    **settings: Any,
) -> Examined:
    """An exam for the task or family that `source` names.

    out: save it there; html: write the sheet there and the key beside it. Places are tried before
    the work. proof: have the proof checked by the checker that shares nothing with what made it;
    settings for which there is none are refused before the work.
    """
    if proof:
        _require_provable(**settings)
    wanted = [] if html is None else [(html, PAGE), (key_path(html), PAGE)]
    for place, kind in (*wanted, *([] if out is None else [(out, json_kind(EXAM_FORMAT))])):
        require_writable(place, kind, [source])
    task = open_task_or_family(source, parameters)
    made = exam(task, **settings)
    verified = None
    if proof and not made.is_proved:
        raise Unsupported(NEEDS_EXACT)
    if proof and made.proof is None:
        verified = "no proof: right answers to all questions do not decide it"
    elif proof:
        verified = verify(task, made.document())
    if out is not None:
        made.save(out)
    pages = () if html is None else write_exam_pages(task, made, html)
    return Examined(task, made, pages, verified)


def _require_provable(
    *, ask: str = "comparisons", closed: bool = True, arithmetic: str = "auto", **_: Any
) -> None:
    """Refuse settings whose exams have no proof."""
    if arithmetic == "float":
        raise Unsupported(NEEDS_EXACT)
    if ask == "actions" and not closed:
        raise Unsupported(
            "an exam of actions that is not closed passes nobody, so it has no proof to check; "
            "leave --no-closed or --proof out"
        )
