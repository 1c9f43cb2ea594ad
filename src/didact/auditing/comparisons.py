"""The fewest comparisons that decide alignment.

An agent with weights w' holds the same actions best everywhere exactly when w' lies in the relative
interior of the class: f.w' > 0 for a row f of every facet, and e.w' = 0 for a basis of the
equalities' span L. One comparison for each decides that both ways.

Fewer never do, whatever they compare. Agents that answer as the task does make up the set {w' :
p.w' > 0 for the strict questions p, q.w' = 0 for the others q}. Where that is the relative
interior, the q span L, because it has the same affine hull, and each facet lies in the boundary of
some p: there are at least dim L and n_facets of them.

Both sides of a comparison go on as the task's best policy does; so the row is the one of the class,
whatever the agent would do later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from didact.auditing.questions import (
    Question,
    apart_words,
    cost_of,
    oriented,
    place_words,
    swapped,
    turned,
)
from didact.bec.describe import telling_equalities, telling_facets
from didact.bec.families import Known
from didact.bec.parts import part_with
from didact.mdp.naming import action_words


def deciding_comparisons(known: Known) -> tuple[Question, ...]:
    """A question for each facet and each independent equality, the smallest angle first.

    Of the rows of a facet the one with the fewest features is asked, and of those who state a row
    the one to whom it matters most.
    """
    return in_order(
        _comparison(known, row, equality)
        for equality, rows in (
            (False, telling_facets(known.cone)),
            (True, telling_equalities(known.cone)),
        )
        for row in rows
    )


def in_order(questions: Iterator[Question]) -> tuple[Question, ...]:
    """Strict questions with the smallest angle first; then those whose answer is 'equal'."""
    return tuple(sorted(questions, key=lambda q: (q.key == "equal", q.angle or 0.0)))


def _comparison(known: Known, row: int, equality: bool) -> Question:
    state, action, other = _statement(known, row)
    part = part_with(known.parts, state)
    at_home, mdp = state - part.first, part.task.mdp
    swap = swapped(part.task.name, at_home, action, other)
    exact = known.rows.exact
    own: Sequence[Any] = known.rows.normals[row].tolist() if exact is None else exact[row]
    options, normal = turned((action, other), swap), oriented(own, swap)
    labels = tuple(action_words(part.task, option) for option in options)
    place = place_words(known, part, at_home)
    cost = Fraction(0) if equality else cost_of(part, at_home, other, action)
    return Question(
        "comparison",
        at_home,
        place,
        options,
        labels,
        turned((Fraction(0), cost), swap),
        "equal" if equality else "second" if swap else "first",
        f"In {place}: which is worth more, {labels[0]} (first) or {labels[1]} (second), both "
        f"followed by the task's best policy? {apart_words(mdp, normal)}",
        normal,
        0.0 if equality else angle_of(known, row),
        known.words_of(row),
        part.member,
    )


def _statement(known: Known, row: int) -> tuple[int, int, int]:
    """Of those who state a row, the one whose other action costs most; the first of them."""
    rows = known.rows
    places = np.flatnonzero(rows.number == row)
    gaps = [
        float(values[a] - values[b])
        for state, a, b in rows.statements[places].tolist()
        for part in (part_with(known.parts, state),)
        for values in (part.plan.action_values[state - part.first],)
    ]
    state, action, other = rows.statements[places[int(np.argmax(gaps))]].tolist()
    return state, action, other


def angle_of(known: Known, row: int) -> float:
    """The sine of the angle by which the true weights are inside a row."""
    weights = known.cone.true_weights.floats
    return float(known.rows.normals[row] @ weights / (float(np.linalg.norm(weights)) or 1.0))
