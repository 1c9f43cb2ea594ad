"""Comparisons as preferences between two trajectories that people can be shown.

Both begin in the same state, one with each action, go on with best actions, and stop where they
meet at the same time or have both ended. What they count differs by the row of the comparison, up
to the equalities, because best actions that tie differ by equalities only. With unequal lengths an
answer would also fix the zero of the reward, which says nothing of behaviour.

A comparison whose trajectories never meet, or depend on chance, cannot be shown so.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

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
from didact.bec.parts import Part, part_with
from didact.errors import Unsupported
from didact.mdp import Demonstration
from didact.mdp.naming import action_words
from didact.planning.rationals import exact_model


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
    facets = [(members[0], _first_pair(known, members)) for members in known.cone.facets]
    questions = [_question(known, row, pair, False) for row, pair in facets if pair is not None]
    open_rows = [row for row, pair in facets if pair is None]
    ties, untold = _ties(known)
    questions += [_question(known, row, pair, True) for row, pair in ties]
    return Preferred(in_order(iter(questions)), (*open_rows, *untold))


class Pair(NamedTuple):
    """Two trajectories of a part, the one of the better action first, and what they differ by."""

    part: Part
    better: Demonstration
    other: Demonstration
    difference: tuple[Any, ...]


def _statements(known: Known, rows: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """(row, state, action, other) of all who state one of the rows."""
    hit = np.flatnonzero(np.isin(known.rows.number, list(rows)))
    return [(int(known.rows.number[i]), *known.rows.statements[i].tolist()) for i in hit.tolist()]


def _first_pair(known: Known, rows: Sequence[int]) -> Pair | None:
    """The shortest two trajectories that state one of the rows."""
    pairs = [_pair(known, *statement) for _, *statement in _statements(known, rows)]
    found = [pair for pair in pairs if pair is not None]
    return min(found, key=lambda pair: len(pair.better) + len(pair.other), default=None)


def _ties(known: Known) -> tuple[list[tuple[int, Pair]], list[int]]:
    """Independent ties that trajectories show, and an equality that does not follow from them."""
    chosen: list[tuple[int, Pair]] = []
    spanned: list[Row] = []
    wanted = len(known.cone.lineality)
    for row, *statement in _statements(known, known.cone.equalities):
        if len(spanned) == wanted:
            break
        pair = _pair(known, *statement)
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


def _pair(known: Known, state: int, action: int, other: int) -> Pair | None:
    """The two trajectories of a statement; None where they depend on chance or never meet."""
    part = part_with(known.parts, state)
    at_home = state - part.first
    walks = [_Walk(part, at_home, first) for first in (action, other)]
    for _ in range(part.task.mdp.n_states):
        if any(walk.is_open for walk in walks):
            return None
        if all(walk.at is None for walk in walks) or walks[0].at == walks[1].at:
            better, worse = (Demonstration(walk.pairs) for walk in walks)
            counted = zip(walks[0].counts, walks[1].counts, strict=True)
            return Pair(part, better, worse, tuple(a - b for a, b in counted))
        for walk in walks:
            walk.step()
    return None


class _Walk:
    """A trajectory from a first action on, with the first of the best actions after it."""

    def __init__(self, part: Part, state: int, action: int):
        self.part, self.model = part, exact_model(part.task.mdp)
        self.counts = [0 * x for x in self.model.payment(state, action)]
        self.pairs: list[tuple[int, int]] = []
        self.at: int | None = state
        self.is_open, self.weight = False, Fraction(1)
        self._take(state, action)

    def step(self) -> None:
        """One best action more; nothing after the end."""
        if self.at is not None:
            self._take(self.at, self.part.plan.optimal_actions(self.at)[0])

    def _take(self, state: int, action: int) -> None:
        mdp = self.part.task.mdp
        self.pairs.append((state, action))
        self._count(state, action)
        row = state * mdp.n_actions + action
        moves = mdp.transitions
        targets = moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist()
        self.is_open = len(targets) != 1
        self.weight *= mdp.exact_discount
        self.at = targets[0]
        if mdp.terminal[targets[0]]:
            self._count(targets[0], 0)
            self.at = None

    def _count(self, state: int, action: int) -> None:
        from flint import fmpq

        weight = fmpq(self.weight.numerator, self.weight.denominator)
        paid = self.model.payment(state, action)
        self.counts = [c + weight * x for c, x in zip(self.counts, paid, strict=True)]


def _question(known: Known, row: int, pair: Pair, equality: bool) -> Question:
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
