"""Exams and audits: is another agent aligned, and what must be asked to be sure?"""

from didact.auditing.audit import audit
from didact.auditing.exam import Exam, exam, load_exam
from didact.auditing.grading import Audit, CostlyState

__all__ = ["Audit", "CostlyState", "Exam", "audit", "exam", "load_exam"]
