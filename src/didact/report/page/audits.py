"""Exams, audits and lessons of several kinds in a notebook."""

from __future__ import annotations

from didact.auditing import Audit, Exam
from didact.inputs import shown_name
from didact.report.exams import VERDICTS, audit_lines, exam_line
from didact.report.page.notebook import result_fragment
from didact.report.verdicts import mixed_lesson_lines
from didact.teaching import Lesson


def exam_fragment(exam: Exam) -> str:
    """What an exam decides, and its questions without the key."""
    rows = [{"question": i, "asked": q.words} for i, q in enumerate(exam.questions, start=1)]
    told = [f"a pass says: {exam.statement}", *(f"if {words}" for words in exam.conditions)]
    return result_fragment(exam_line(exam), told, rows, ("question", "asked"))


def audit_fragment(audit: Audit) -> str:
    """The verdict on an agent, and why."""
    _, *lines = audit_lines("", audit)
    return result_fragment(f"{VERDICTS[audit.verdict]}: {audit.reason}", lines)


def mixed_lesson_fragment(lesson: Lesson) -> str:
    """The items of a lesson and what each is for."""
    title, *_ = mixed_lesson_lines(lesson)
    rows = [
        {"item": i + 1, "said": words, "why": lesson.why(i)} for i, words in enumerate(lesson.words)
    ]
    told = [f"open: {missing.words}" for missing in lesson.uncovered]
    return result_fragment(shown_name(title, 120), told, rows, ("item", "said", "why"))
