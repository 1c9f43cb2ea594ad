"""Which rows of a cone are equalities: those whose negative lies in the cone too.

A row with slack at the point inside is none. A row r without slack is one exactly when -r lies in
the cone of the rows without slack; where it does not, Farkas' witness moves the point off the row,
so that in the end the point lies strictly inside every half-space but the equalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from didact.bec.farkas import Inside, Proposer, decide
from didact.bec.linear import Multipliers, Row, dot, negated, reduced_multipliers


@dataclass(frozen=True)
class Ties:
    """The equalities, and a point strictly inside every other half-space with its slacks."""

    opposites: dict[int, Multipliers]
    point: Row
    slacks: list[int]
    n_exact_lp: int


def find_ties(rows: Sequence[Row], start: Ties, proposer: Proposer) -> Ties:
    """Which rows without slack lie in L; the point moves off the others.

    Model rows come with their negatives, so that a look decides; otherwise r is in L exactly when
    -r is in the cone of the rows without slack.
    """
    tied = [index for index, slack in enumerate(start.slacks) if slack == 0]
    place = {rows[index]: index for index in tied}
    opposites = {
        index: Multipliers((place[negated(rows[index])],), (1,), 1)
        for index in tied
        if negated(rows[index]) in place
    }
    point, slacks, n_exact_lp = start.point, start.slacks, 0
    for index in tied:
        if index in opposites or slacks[index] > 0:
            continue
        decision = decide([rows[i] for i in tied], negated(rows[index]), proposer=proposer)
        n_exact_lp += decision.exact_lp
        if isinstance(decision, Inside):
            for member, negative in _circuit(index, decision.multipliers, tied).items():
                opposites.setdefault(member, negative)
        else:
            slopes = [dot(row, decision.witness) for row in rows]
            point, slacks = _moved(point, slacks, decision.witness, slopes)
    return Ties(opposites, point, slacks, n_exact_lp)


def _circuit(index: int, negative: Multipliers, tied: list[int]) -> dict[int, Multipliers]:
    """From -r as a combination, the same for every row that takes part."""
    amounts = {tied[i]: n for i, n in zip(negative.indices, negative.numerators, strict=True)}
    amounts[index] = negative.denominator
    return {
        member: reduced_multipliers(
            {other: n for other, n in amounts.items() if other != member}, amount
        )
        for member, amount in amounts.items()
    }


def _moved(
    point: Row, slacks: list[int], direction: Row, slopes: list[int]
) -> tuple[Row, list[int]]:
    """The point moved along the direction by so little that no positive slack is lost."""
    scale = 1 + max(
        (-slope // slack for slope, slack in zip(slopes, slacks, strict=True) if slack > 0),
        default=0,
    )
    scale = max(scale, 1)
    moved = tuple(scale * entry + step for entry, step in zip(point, direction, strict=True))
    return moved, [scale * slack + slope for slack, slope in zip(slacks, slopes, strict=True)]
