"""Whether a class is pinned down, else weights that fit everything shown and are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from didact.bec.families import Known
from didact.bec.nnls import nearest_in_cone
from didact.bec.parts import shown_pairs
from didact.bec.proofs import Proof, prove
from didact.mdp import MDP, Demonstration
from didact.numerics.exact import Numbers
from didact.planning import Plan, evaluate, solve
from didact.planning.solve import Arithmetic
from didact.stages import stage
from didact.teaching.covers.elements import Elements


class Judgement(NamedTuple):
    """Whether demonstrations pin a class down; if not, wrong weights that fit, and their loss.

    witness: None in floats where what is open seems to follow all the same: a close call.
    loss_error: how far the loss can be from the true one.
    """

    pins_down: bool
    proof: Proof | None
    witness: tuple[Fraction, ...] | None
    loss: float | None
    loss_error: float = 0.0

    @property
    def n_close(self) -> int:
        """Close calls of the judgement itself."""
        return int(not self.pins_down and self.witness is None)


def judge(elements: Elements, demonstrations: Sequence[Demonstration], covered: int) -> Judgement:
    """What is known of demonstrations that cover so much: by a proof, or in floats by counting."""
    known = elements.known
    stage("proof")
    proof = prove(known, demonstrations) if known.rows.exact is not None else None
    if covered == elements.everything if proof is None else proof.teaches:
        return Judgement(True, proof, None, None)
    witness = witness_of(elements, demonstrations, covered, proof)
    if witness is None:
        return Judgement(False, proof, None, None)
    return Judgement(False, proof, witness, *loss_with_error(known, witness))


def proof_of(proof: Proof | None, *, later: bool) -> Any:
    """The document of a proof, or a function that writes it; None without a proof."""
    if proof is None:
        return None
    return partial(getattr, proof, "document") if later else proof.document


def worst_loss(known: Known, witness: Sequence[Fraction]) -> float:
    """What a learner that takes these weights may lose: in a family where it loses most."""
    return loss_with_error(known, witness)[0]


def loss_with_error(known: Known, witness: Sequence[Fraction]) -> tuple[float, float]:
    """The same, and how far it can be from the true one."""
    found = [
        evaluate(part.task, witness_plan(part.task.mdp, witness), plan=part.plan)
        for part in known.parts
    ]
    return max((each.worst_policy_loss, each.error_bound) for each in found)


def witness_of(
    elements: Elements, demonstrations: Sequence[Demonstration], covered: int, proof: Proof | None
) -> tuple[Fraction, ...] | None:
    """Weights that fit all demonstrations and are wrong, the largest of them 1 or -1.

    From the proof where there is one, else away from the nearest point of the cone of all rows
    that the demonstrations state, redundant ones too.
    """
    if proof is not None:
        assert proof.witness is not None
        largest = max(abs(x) for x in proof.witness)
        return tuple(Fraction(x, largest) for x in proof.witness)
    rows = elements.known.rows
    stated = rows.stated_by(shown_pairs(elements.known.parts, demonstrations))
    nearest = nearest_in_cone(rows.balanced[stated], rows.balanced[elements.open_row(covered)])
    away = -rows.unbalanced_weights(nearest.residual)
    if not away.any():
        return None
    away /= np.abs(away).max()
    return tuple(Fraction(repr(float(x))) for x in away)


def witness_plan(mdp: MDP, witness: Sequence[Fraction], arithmetic: Arithmetic = "auto") -> Plan:
    """What the witness makes optimal; its numbers may be longer than any that a task may have."""
    weights = Numbers.of_results(witness)
    is_rounded_off = any(w and not f for w, f in zip(witness, weights.floats, strict=True))
    return solve(mdp, weights, arithmetic="exact" if is_rounded_off else arithmetic)


def row_in_words(known: Known, row: int) -> str:
    """What a row says about the features, in plain English."""
    return known.words_of(row)
