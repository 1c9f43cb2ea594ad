"""Exams of preferences: each comparison as two trajectories, where there are such.

See `didact.teaching.feedback.candidates` for which comparisons trajectories can show.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from didact.auditing.comparisons import in_order
from didact.auditing.questions import (
    Question,
    apart_words,
    cost_of,
    oriented,
    place_words,
    swapped,
    turned,
)
from didact.bec.families import Known
from didact.bec.linear import Row, primitive, row_reduced, unit_floats
from didact.errors import Unsupported
from didact.mdp.naming import action_words
from didact.teaching.feedback.candidates import (
    Ways,
    shortest_pair,
    statements_of,
    ways_that_meet,
)


class Preferred(NamedTuple):
    """Questions between trajectories, and the rows of the class that none can ask."""

    questions: tuple[Question, ...]
    open_rows: tuple[int, ...]


def deciding_preferences(known: Known) -> Preferred:
    """A preference for each facet and each independent equality, as far as there are such."""
    if known.rows.exact is None:
        raise Unsupported(
            "an exam of preferences needs exact arithmetic, and this class was computed in "
            "floats; build it with arithmetic='exact', or ask comparisons"
        )
    facets = [(members[0], shortest_pair(known, members)) for members in known.cone.facets]
    questions = [_question(known, row, pair, False) for row, pair in facets if pair is not None]
    open_rows = [row for row, pair in facets if pair is None]
    ties, untold = _ties(known)
    questions += [_question(known, row, pair, True) for row, pair in ties]
    return Preferred(in_order(iter(questions)), (*open_rows, *untold))


def _ties(known: Known) -> tuple[list[tuple[int, Ways]], list[int]]:
    """Independent ties that trajectories show, and an equality that does not follow from them."""
    chosen: list[tuple[int, Ways]] = []
    spanned: list[Row] = []
    wanted = len(known.cone.lineality)
    for row, state, *actions in statements_of(known, known.cone.equalities):
        if len(spanned) == wanted:
            break
        pair = ways_that_meet(known, state, actions)
        if pair is None:
            continue
        larger = row_reduced([*spanned, primitive(list(pair.difference))])[0]
        if len(larger) > len(spanned):
            spanned = larger
            chosen.append((row, pair))
    exact = known.rows.exact or ()
    rest = [
        row
        for row in known.cone.equalities
        if len(spanned) < wanted and len(row_reduced([*spanned, exact[row]])[0]) > len(spanned)
    ]
    return chosen, rest[:1]


def _question(known: Known, row: int, pair: Ways, equality: bool) -> Question:
    part, mdp = pair.part, pair.part.task.mdp
    (state, action), (_, other) = pair.better[0], pair.other[0]
    swap = swapped(part.task.name, "preference", state, action, other)
    options = turned((pair.better, pair.other), swap)
    own = primitive(list(pair.difference))
    weights, normal = known.cone.true_weights.floats, oriented(own, swap)
    length = float(np.linalg.norm(weights)) or 1.0
    cost = Fraction(0) if equality else cost_of(part, state, other, action)
    place = place_words(known, part, state)
    return Question(
        "preference",
        state,
        place,
        options,
        tuple(", ".join(action_words(part.task, a) for _, a in option) for option in options),
        turned((Fraction(0), cost), swap),
        "equal" if equality else "second" if swap else "first",
        f"Two ways that begin in {place}: which is worth more, the first or the second? "
        f"{apart_words(mdp, normal)}",
        normal,
        0.0 if equality else float(unit_floats([own])[0] @ weights / length),
        known.words_of(row),
        part.member,
    )
