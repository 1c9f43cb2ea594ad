"""Imported by the process that workers are forked from: what a first picture needs is loaded there.

Lessons need more. One worker loads that before it takes questions, so that the first picture does
not wait for it.
"""

from __future__ import annotations

from didact.studio.questions import QUESTIONS

FIRST = {
    "name": "first",
    "rows": ["ab", "aa"],
    "features": [["a", "-1", 0], ["b", "-2", 1]],
    "ends": [1],
    "starts": [],
    "slip": "0.1",
    "discount": "0.9",
}
"""A world as small as can be: answering about it loads templates and solvers."""

QUESTIONS["look"]({"painting": FIRST})


def load_lessons() -> None:
    """Load what lessons need."""
    QUESTIONS["teach"]({"painting": FIRST})
