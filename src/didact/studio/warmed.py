"""Imported by the process that workers are forked from: what they all need is loaded there once."""

from __future__ import annotations

from didact.app.studio import QUESTIONS

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

for question in ("look", "teach"):
    QUESTIONS[question]({"painting": FIRST})
