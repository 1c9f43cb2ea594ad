"""Why items teach a class, or leave it open: proofs that `didact.proofcheck` checks alone.

As the proofs of demonstrations (see `didact.bec.proofs`), with `items` instead of them. Generators
are [item, row]: the rows of a demonstration are those of its steps, against every action in turn;
a comparison or a preference has one, a ranking one for each neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from didact.bec.families import Known
from didact.bec.linear import Multipliers, Row
from didact.bec.proofs import implied, policy_documents
from didact.mdp import Demonstration
from didact.mdp.items import Item
from didact.numerics.texts import number_text, number_texts
from didact.teaching.feedback.rows import Difference, direction, item_differences


def mixed_proof(
    known: Known, items: Sequence[Item], witness: Sequence[Fraction] | None
) -> dict[str, Any]:
    """The proof that items teach a class; with weights that fit them, that they leave it open."""
    assert known.rows.exact is not None
    told = policy_documents(known)
    document = {
        "format": told.pop("format"),
        "claim": "teaches" if witness is None else "open",
        **told,
        "items": [item.document() for item in items],
    }
    if witness is None:
        return document | _followed(known, items)
    broken = next(
        number
        for number, row in enumerate(known.rows.exact)
        if sum(x * w for x, w in zip(row, witness, strict=True)) < 0
    )
    return document | {
        "weights": number_texts(witness),
        "row": list(known.statement_of(broken)),
    }


def _followed(known: Known, items: Sequence[Item]) -> dict[str, Any]:
    """Every row of the class as a sum of nonnegative multiples of rows that items state."""
    exact = known.rows.exact or ()
    places: dict[Row, tuple[int, int, Fraction]] = {}
    for number, item in enumerate(items):
        for place, difference in enumerate(_said(known, item)):
            if any(difference):
                row = direction(difference)
                places.setdefault(row, (number, place, _scale(difference, row)))
    rows = tuple(places)
    found = list(implied(rows, exact, known.cone.multipliers))
    used = sorted({i for proof in found for i in _multipliers(proof).indices})
    number_of = {row: i for i, row in enumerate(used)}
    return {
        "generators": [list(places[rows[i]][:2]) for i in used],
        "multipliers": [
            [
                [number_of[i], number_text(share / places[rows[i]][2])]
                for i, share in zip(proof.indices, proof.fractions, strict=True)
            ]
            for proof in map(_multipliers, found)
        ],
    }


def _multipliers(found: Multipliers | Row) -> Multipliers:
    if not isinstance(found, Multipliers):
        raise AssertionError("all rows must follow from the items")
    return found


def _said(known: Known, item: Item) -> list[Difference]:
    """The rows of an item in the order that the checker numbers them, not scaled."""
    if not isinstance(item, Demonstration):
        return item_differences(known, item)
    counts = known.parts[item.member or 0].counts
    assert counts is not None
    return [list(counts.pairs[s, a] - other) for s, a in item for other in counts.pairs[s]]


def _scale(difference: Difference, row: Row) -> Fraction:
    """How long a difference is in primitive vectors of its direction."""
    at = next(i for i, entry in enumerate(row) if entry)
    return Fraction(int(difference[at].p), int(difference[at].q)) / row[at]
