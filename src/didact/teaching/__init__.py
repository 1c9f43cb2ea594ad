"""Lessons: SCOT, the exact minimum, UVM and the random baseline; and the check of any lesson."""

from didact.teaching.check import Verdict, check
from didact.teaching.clips.certify import certify
from didact.teaching.clips.lesson import ClipCertificate, ClipLesson
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.frontier import Frontier, frontier
from didact.teaching.identify import Identification, identify
from didact.teaching.lesson import Lesson
from didact.teaching.lesson_files import load_lesson
from didact.teaching.rank import Difficulty, rank
from didact.teaching.robust import Attack, attack
from didact.teaching.select import Selection, select
from didact.teaching.teach import teach, teach_mixed, teach_robust, teach_within
from didact.teaching.teachers import register_teacher, teachers
from didact.teaching.transfer import Transfer, transfer

__all__ = [
    "Attack",
    "ClipCertificate",
    "ClipLesson",
    "Difficulty",
    "Frontier",
    "Identification",
    "Lesson",
    "Picks",
    "Problem",
    "Selection",
    "Transfer",
    "Verdict",
    "attack",
    "certify",
    "check",
    "frontier",
    "identify",
    "load_lesson",
    "rank",
    "register_teacher",
    "select",
    "teach",
    "teach_mixed",
    "teach_robust",
    "teach_within",
    "teachers",
    "transfer",
]
