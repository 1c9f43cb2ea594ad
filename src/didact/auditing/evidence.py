"""Why an exam is enough, and why no question of one that compares sides may be left out.

Enough: every row of the class is a sum of nonnegative multiples of the strict questions' rows and
of any multiples of the others. So who answers all of them rightly satisfies every row, strictly
where a strict question takes part. A question about actions stands for all rows of its state.

Needed: for each question there is an agent that answers all others rightly and is not aligned. Of
actions that is not so simple, since states are asked for others' sake: there is a lower bound only.
The optimal sets and counts come with it, so that `didact.proofcheck` checks all of it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from didact.auditing.questions import Question
from didact.bec.families import Known
from didact.bec.farkas import Inside, decide
from didact.bec.linear import Multipliers, Row, dot, negated, primitive, row_reduced
from didact.bec.parts import part_with
from didact.bec.proofs import policy_documents
from didact.numerics.texts import number_text, number_texts


def exam_proof(known: Known, questions: Sequence[Question]) -> dict[str, Any]:
    """Multipliers of every distinct row over the questions, and an agent against each question."""
    assert known.rows.exact is not None
    rows = [right_row(question) for question in questions]
    strict = [question.key != "equal" for question in questions]
    return {
        "claim": "decides",
        **policy_documents(known),
        "rows": [number_texts(row) for row in known.rows.exact],
        "generators": [[number, 0] for number in range(len(rows))],
        "multipliers": [
            [[i, number_text(share)] for i, share in _combination(known, row, rows, strict)]
            for row in known.rows.exact
        ],
        "agents": [number_texts(_misled(known, rows, strict, i)) for i in range(len(rows))],
    }


def action_proof(known: Known, questions: Sequence[Question]) -> dict[str, Any]:
    """Multipliers of every distinct row over rows of the states that are asked about."""
    assert known.rows.exact is not None
    stated: dict[Row, tuple[list[int], bool]] = {}
    asked = {(x.member, x.state): number for number, x in enumerate(questions)}
    for (state, action, other), number in zip(
        known.rows.statements.tolist(), known.rows.number.tolist(), strict=True
    ):
        part = part_with(known.parts, state)
        at_home = state - part.first
        if number >= 0 and (part.member, at_home) in asked:
            best = part.plan.optimal_actions(at_home)  # each has a row for each action, in order
            place = best.index(action) * part.task.mdp.n_actions + other
            strict = other not in best
            stated.setdefault(
                known.rows.exact[number], ([asked[part.member, at_home], place], strict)
            )
    rows, strict_rows = list(stated), [is_strict for _, is_strict in stated.values()]
    return {
        "claim": "decides",
        **policy_documents(known),
        "generators": [place for place, _ in stated.values()],
        "multipliers": [
            [[i, number_text(share)] for i, share in _combination(known, row, rows, strict_rows)]
            for row in known.rows.exact
        ],
    }


def right_row(question: Question) -> Row:
    """The row that the right answer makes positive, or zero."""
    assert question.normal is not None
    return negated(question.normal) if question.key == "second" else question.normal


def _combination(
    known: Known, row: Row, rows: Sequence[Row], strict: Sequence[bool]
) -> list[tuple[int, Fraction]]:
    """The row as a sum of multiples of the questions' rows."""
    ready = _ready(known, row, rows)
    if ready is not None:
        return ready
    both = [(i, 1, r) for i, r in enumerate(rows)]
    both += [(i, -1, negated(r)) for i, r in enumerate(rows) if not strict[i]]
    verdict = decide([r for _, _, r in both], row)
    if not isinstance(verdict, Inside):
        raise AssertionError("the questions do not cover the class")
    found = zip(verdict.multipliers.indices, verdict.multipliers.fractions, strict=True)
    return [(both[j][0], both[j][1] * share) for j, share in found]


def _ready(known: Known, row: Row, rows: Sequence[Row]) -> list[tuple[int, Fraction]] | None:
    """What the class knows of the row already, where all that it names are questions."""
    exact, place = known.rows.exact or (), {r: i for i, r in enumerate(rows)}
    if row in place:
        return [(place[row], Fraction(1))]
    found: Multipliers | None = known.cone.multipliers.get(exact.index(row))
    if found is None or any(exact[i] not in place for i in found.indices):
        return None
    pairs = zip(found.indices, found.fractions, strict=True)
    return [(place[exact[i]], share) for i, share in pairs]


def _misled(known: Known, rows: Sequence[Row], strict: Sequence[bool], left_out: int) -> Row:
    """Weights that answer every question but one rightly, and that one wrongly."""
    inside = primitive(list(known.cone.true_weights.fractions()))
    away = _away(known, rows, strict, left_out)
    others = [r for i, r in enumerate(rows) if strict[i] and i != left_out]
    if strict[left_out]:
        # The least share of the true weights for which the question is just not answered rightly.
        slack, drop = dot(rows[left_out], inside), -dot(rows[left_out], away)
        return primitive([drop * x + slack * y for x, y in zip(inside, away, strict=True)])
    scale = 1 + max((-dot(r, away) // dot(r, inside) for r in others), default=0)
    return primitive([max(scale, 1) * x + y for x, y in zip(inside, away, strict=True)])


def _away(known: Known, rows: Sequence[Row], strict: Sequence[bool], left_out: int) -> Row:
    """For a facet a direction that only it excludes; for a tie one that only it forbids."""
    if strict[left_out]:
        generators = [r for i, r in enumerate(rows) if i != left_out]
        generators += [negated(r) for i, r in enumerate(rows) if not strict[i]]
        verdict = decide(generators, rows[left_out])
        if isinstance(verdict, Inside):
            raise AssertionError("a facet follows from the others")
        return verdict.witness
    from didact.bec.linear import null_basis

    ties = [r for i, r in enumerate(rows) if not strict[i] and i != left_out]
    basis, pivots = row_reduced(ties)
    width = len(rows[left_out])
    return next(d for d in null_basis(basis, pivots, width) if dot(d, rows[left_out]))
