"""What follows from half-spaces that are stated; else a witness: weights that fit and are wrong.

A row follows from stated half-spaces when it lies in the cone of their normals (Farkas): then every
reward that fits them satisfies it. Else some reward fits all that is stated and breaks the row: the
witness. In exact arithmetic both answers are proved. Floats measure the distance from the cone and
decide by a tolerance; where what is open seems to follow all the same, that is a close call.

`judge` decides so whether demonstrations determine a class; `ExactHalfspaces` and `FloatHalfspaces`
answer for rows of any world, as `transfer`, `select` and mixed lessons ask them.

The hardest step of a lesson is the smallest Q-value gap that it relies on: whoever is shown an
action must be able to believe that every worse one is worse. At each step shown the least bad of
them counts; optimal ones are worth the same and ask nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from didact.bec.classes import EquivalenceClass, Member, exact_gap, shown_pairs
from didact.bec.directions import TOLERANCE
from didact.bec.facets import IS_EQUALITY, all_hold, find_facets
from didact.bec.halfspaces import Rows
from didact.bec.linear import Inside, Row, decide, matrix, primitive, products
from didact.bec.nnls import nearest_in_cone
from didact.bec.proofs import Proof, proof_of
from didact.mdp import MDP, Demonstration
from didact.numerics.exact import Floats, Numbers
from didact.numerics.texts import number_texts
from didact.planning import Plan, evaluate, solve
from didact.planning.solve import Arithmetic
from didact.stages import stage
from didact.teaching.covers.problem import Coverage, Elements
from didact.teaching.covers.set_cover import bits_of
from didact.teaching.lesson import Missing

if TYPE_CHECKING:
    from flint import fmpz_mat

Weights = tuple[Fraction, ...]


class Judgement(NamedTuple):
    """Whether demonstrations determine a class; if not, wrong weights that fit, and their loss.

    witness: None in floats where what is open seems to follow all the same: a close call.
    loss: 0 where they determine it; None where a close call leaves it open.
    loss_error: how far the loss can be from the true one.
    """

    pins_down: bool
    proof: Proof | None
    witness: Weights | None
    loss: float | None
    loss_error: float = 0.0

    @property
    def n_close(self) -> int:
        """Close calls of the judgement itself."""
        return int(not self.pins_down and self.witness is None)


def judge(elements: Elements, demonstrations: Sequence[Demonstration], covered: int) -> Judgement:
    """What is known of demonstrations that cover so much: by a proof, or in floats by counting."""
    bec = elements.bec
    stage("proof")
    proof = proof_of(bec, tuple(demonstrations)) if bec.rows.exact is not None else None
    if covered == elements.everything if proof is None else proof.teaches:
        return Judgement(True, proof, None, 0.0)
    witness = _witness_of(elements, demonstrations, covered, proof)
    if witness is None:
        return Judgement(False, proof, None, None)
    return Judgement(False, proof, witness, *_loss_with_error(bec, witness))


def _witness_of(
    elements: Elements, demonstrations: Sequence[Demonstration], covered: int, proof: Proof | None
) -> Weights | None:
    """Weights that fit all demonstrations and are wrong, the largest of them 1 or -1.

    From the proof where there is one, else away from the nearest point of the cone of all rows
    that the demonstrations state, redundant ones too.
    """
    if proof is not None:
        assert proof.witness is not None
        return _scaled(proof.witness)
    rows = elements.bec.rows
    stated = rows.stated_by(shown_pairs(elements.bec.members, demonstrations))
    nearest = nearest_in_cone(rows.balanced[stated], rows.balanced[elements.open_row(covered)])
    away = -rows.unbalanced_weights(nearest.residual)
    return _in_decimals(away) if away.any() else None


def worst_loss(bec: EquivalenceClass, witness: Sequence[Fraction]) -> float:
    """What a learner that takes these weights may lose: in a family where it loses most."""
    return _loss_with_error(bec, witness)[0]


def _loss_with_error(bec: EquivalenceClass, witness: Sequence[Fraction]) -> tuple[float, float]:
    """The same, and how far it can be from the true one."""
    found = [
        evaluate(member.task, witness_plan(member.task.mdp, witness), plan=member.plan)
        for member in bec.members
    ]
    return max((each.worst_policy_loss, each.error_bound) for each in found)


def witness_plan(mdp: MDP, witness: Sequence[Fraction], arithmetic: Arithmetic = "auto") -> Plan:
    """What the witness makes optimal; its numbers may be longer than any that a task may have."""
    weights = Numbers.of_results(witness)
    # Weights that round to 0.0 would be lost in floats, and with them what makes the witness wrong.
    is_rounded_off = any(w and not f for w, f in zip(witness, weights.floats, strict=True))
    return solve(mdp, weights, arithmetic="exact" if is_rounded_off else arithmetic)


class ExactHalfspaces:
    """Stated half-spaces as whole numbers; what follows from them is proved.

    Only the few normals that witnesses broke are combined, and every witness is tried on all of
    them: most of thousands of rows are never needed (constraint generation).
    """

    def __init__(self, rows: Sequence[Row], likely: Iterable[int] = ()):
        self.rows: fmpz_mat | None = matrix(rows) if rows else None
        self._all = tuple(rows)
        self._generators = [rows[number] for number in likely]
        self._following: set[Row] = set()  # many worlds ask for the same rows

    def witness_against(self, rows: Rows, number: int) -> Weights | None:
        """Weights that fit all that is stated and break a row; None where the row follows."""
        assert rows.exact is not None
        return self.against(rows.exact[number])

    def follows(self, row: Row) -> bool:
        """Whether a row is a consequence of all that is stated."""
        return self.against(row) is None

    def against(self, target: Row) -> Weights | None:
        """Weights that fit all that is stated and break a row; None where the row follows."""
        if target in self._following:
            return None
        while True:
            decision = decide(self._generators, target)
            if isinstance(decision, Inside):
                self._following.add(target)
                return None
            broken = self._most_broken(decision.witness)
            if broken is None:
                return _scaled(decision.witness)
            self._generators.append(self._all[broken])

    def _most_broken(self, witness: Row) -> int | None:
        """The stated row that a direction breaks most; None where it fits all of them."""
        if self.rows is None:
            return None
        values = products(self.rows, witness)
        least = min(range(len(values)), key=values.__getitem__)
        return least if values[least] < 0 else None

    def fits(self, weights: Weights) -> bool:
        """Whether weights fit all that is stated."""
        return self._most_broken(primitive(weights)) is None


class FloatHalfspaces:
    """Stated half-spaces as unit floats (n, k); answers up to the tolerance."""

    def __init__(self, rows: Floats):
        self.rows = rows

    def witness_against(self, rows: Rows, number: int) -> Weights | None:
        """Weights that fit all that is stated and break a row; None where the row follows."""
        nearest = nearest_in_cone(self.rows, rows.normals[number])
        if float(np.linalg.norm(nearest.residual)) <= TOLERANCE:
            return None
        return _in_decimals(-nearest.residual)

    def fits(self, weights: Weights) -> bool:
        """Whether weights fit all that is stated."""
        point = np.array([float(w) for w in weights])
        return bool((self.rows @ point >= -TOLERANCE * np.linalg.norm(point)).all())


Halfspaces = ExactHalfspaces | FloatHalfspaces


def stated_halfspaces(rows: Rows, weights: Floats, *, exact: bool) -> Halfspaces:
    """The half-spaces of a catalogue's rows, all of which hold at the weights."""
    if not rows.n_rows:
        return ExactHalfspaces(()) if exact else FloatHalfspaces(rows.normals)
    inside = rows.balanced_weights(weights)
    if not all_hold(rows.balanced, inside):  # floats took actions for best that are not
        return FloatHalfspaces(rows.normals)
    # The facets by floats say as much as all rows, or nearly: they are tried first, or alone.
    found = find_facets(rows.balanced, inside)
    likely = [*found.facets.tolist(), *np.flatnonzero(found.facet_of == IS_EQUALITY).tolist()]
    if exact and rows.exact is not None:
        return ExactHalfspaces(rows.exact, likely)
    return FloatHalfspaces(rows.normals[likely])


def fits_rows(rows: Rows, weights: Weights) -> bool:
    """Whether weights fit a catalogue's rows, exactly where these are."""
    if rows.exact is not None:
        return ExactHalfspaces(rows.exact).fits(weights)
    return FloatHalfspaces(rows.normals).fits(weights)


def _scaled(witness: Sequence[int]) -> Weights:
    """Integer weights divided by the largest, so that witnesses can be compared and read."""
    largest = max(abs(entry) for entry in witness)
    return tuple(Fraction(entry, largest) for entry in witness)


def _in_decimals(away: Floats) -> Weights:
    """Float weights divided by the largest, as the shortest decimals that read back as they are."""
    return tuple(Fraction(repr(float(x))) for x in away / np.abs(away).max())


def facet_records(coverage: Coverage) -> tuple[Mapping[str, Any], ...]:
    """Every facet and equality: normal, statement, words, and the first item that covers it."""
    bec, elements = coverage.elements.bec, coverage.elements
    exact, records = bec.rows.exact, []
    for element in range(elements.n_elements):
        row = elements.row_of(element)
        normal = bec.rows.normals[row].tolist() if exact is None else number_texts(exact[row])
        record = {
            "normal": normal,
            "equality": row in bec.cone.equalities,
            "statement": list(bec.statement_of(row)),
            "words": bec.words_of(row),
            "covered_by": coverage.first_to_cover(element),
        }
        records.append(record)
    return tuple(records)


def missing_elements(
    elements: Elements, covered: int, reason_of: Callable[[int], str]
) -> tuple[Missing, ...]:
    """The elements that are not covered: who would state each, in words, and why it is open."""
    bec, found = elements.bec, []
    for element in bits_of(elements.everything & ~covered):
        row = elements.row_of(element)
        *member, state, action, other = bec.statement_of(row)
        reason, words = reason_of(element), bec.words_of(row)
        found.append(Missing(state, action, other, reason, words, *member))
    return tuple(found)


def hardest_step(
    members: Sequence[Member], shown: Sequence[Demonstration]
) -> Fraction | float | None:
    """What the least bad other action costs at any step shown; None where all are worth the same.

    A fraction where the class is exact.
    """
    margins = (_hardest_of(member, member.own(shown)) for member in members)
    return min((margin for margin in margins if margin is not None), default=None)


def _hardest_of(member: Member, shown: Iterable[Demonstration]) -> Fraction | float | None:
    plan = member.plan
    steps = {state: action for way in shown for state, action in way}
    states, actions = (np.array(list(x), dtype=np.int64) for x in (steps, steps.values()))
    values = plan.action_values[states]
    gaps = np.where(plan.optimal[states], np.inf, plan.values[states, None] - values)
    if not np.isfinite(gaps).any():
        return None
    if member.counts is None:
        return float(gaps.min())
    error = plan.error_bound + np.spacing(np.abs(values).max())
    near = np.argwhere(gaps <= gaps.min() + 4.0 * error).tolist()  # floats cannot order these
    found = [exact_gap(member, int(states[i]), other, int(actions[i])) for i, other in near]
    return min(gap for gap in found if gap is not None)
