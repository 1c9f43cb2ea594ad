"""Whether a mix of demonstrations and other feedback teaches a class, decided by certificates.

All that is said are half-spaces. The class is taught when each of its rows follows from them; what
says more than the class (a preference between trajectories that are nearly worth the same) is
allowed: it holds at the true weights, and leaves fewer rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from didact.bec.families import Known, whole_of
from didact.bec.linear import Row
from didact.bec.parts import shown_pairs
from didact.mdp import Demonstration
from didact.mdp.items import Item
from didact.numerics.texts import number_text
from didact.teaching.covers.elements import cover_elements
from didact.teaching.feedback.rows import direction, item_differences, item_words, margin
from didact.teaching.margins import hardest_step
from didact.teaching.shown_cone import ExactlyShown
from didact.teaching.witness import worst_loss


@dataclass(frozen=True)
class WrongItem:
    """Feedback that is not true of the task: the side it calls better is worth less.

    item: its number, from 0. gap: by how much; exact_gap: the same as a fraction.
    """

    item: int
    words: str
    gap: float
    exact_gap: Fraction

    def to_dict(self) -> dict[str, Any]:
        """The same for machines; the fraction as a text."""
        return {**vars(self), "exact_gap": number_text(self.exact_gap)}


class Mixed(NamedTuple):
    """What is known of a mix: rows that stay open, weights that fit and are wrong, their loss.

    wrong: items that are not true, left out of all else. hardest: the smallest difference in return
    that an item asks to be seen; None where all say that two sides are worth the same.
    """

    open_rows: tuple[int, ...]
    witness: tuple[Fraction, ...] | None
    loss: float | None
    wrong: tuple[WrongItem, ...]
    hardest: Fraction | None


def judge_items(known: Known, items: Sequence[Item], right: Sequence[Demonstration]) -> Mixed:
    """What items say together; right: the right steps of the demonstrations among them."""
    rows, wrong, margins = _said(known, items)
    exact = known.rows.exact
    assert exact is not None
    stated = known.rows.stated_by(shown_pairs(known.parts, right))
    rows += [exact[row] for row in stated.tolist()]
    shown = ExactlyShown(list(dict.fromkeys(row for row in rows if any(row))))
    elements = cover_elements(known)
    open_rows, witness = [], None
    for element in range(elements.n_elements):
        row = elements.row_of(element)
        found = shown.witness_against(known.rows, row)
        if found is not None:
            open_rows.append(row)
            witness = witness or found
    loss = None if witness is None else worst_loss(known, witness)
    strict = [m for m in (*margins, hardest_step(known.parts, right)) if m]
    hardest = None if not strict else Fraction(min(strict))
    return Mixed(tuple(open_rows), witness, loss, wrong, hardest)


def _said(
    known: Known, items: Sequence[Item]
) -> tuple[list[Row], tuple[WrongItem, ...], list[Fraction]]:
    """Rows of true feedback, what is not true, and the margins of what is."""
    rows: list[Row] = []
    wrong: list[WrongItem] = []
    margins: list[Fraction] = []
    for number, item in enumerate(items):
        if isinstance(item, Demonstration):
            continue
        differences = item_differences(known, item)
        worths = [margin(known, difference) for difference in differences]
        if min(worths) < 0:
            gap = -min(worths)
            words = item_words(whole_of(known), item)
            wrong.append(WrongItem(number, words, float(gap), gap))
            continue
        rows += [direction(difference) for difference in differences]
        margins += worths
    return rows, tuple(wrong), margins
