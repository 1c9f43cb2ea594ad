"""Lessons: SCOT, the exact minimum, UVM and the random baseline; and the check of any lesson."""

from didact.teaching.check import Verdict, check
from didact.teaching.lesson import Lesson, load_lesson
from didact.teaching.problem import Problem
from didact.teaching.scot import Picks
from didact.teaching.teach import register_teacher, teach, teachers

__all__ = [
    "Lesson",
    "Picks",
    "Problem",
    "Verdict",
    "check",
    "load_lesson",
    "register_teacher",
    "teach",
    "teachers",
]
