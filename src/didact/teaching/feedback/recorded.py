"""Which items of a recording teach a task: demonstrations, comparisons, preferences and the like.

What is wanted are the facets and equalities of the class, where all items together imply them: then
nothing else matters. Else every row that an item rightly states is wanted, as in a selection of
demonstrations: a row that is no facet still excludes rewards. An item is redundant when the chosen
ones imply all that is wanted of it.

Items that state a row of an open facet come first, the most at a time; what the facets need then
may still follow from rows outside of the class together, so items are added that say something new
until all that is wanted follows. What the others imply is dropped again. All is decided exactly;
few items are found so, and not proved to be the fewest.

The exact method proves it by an implicit hitting set. Where chosen items leave open what is wanted,
some weights fit them and break it; whatever is enough has an item that excludes these weights.
Moving them towards the true ones, as far as they still break it, only makes such items fewer. The
cheapest items that hit all these sets are a lower bound, and the answer once nothing is left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from didact.bec.classes import Known, shown_pairs
from didact.bec.linear import Row
from didact.mdp import Demonstration
from didact.mdp.items import Item
from didact.numerics.exact import whole_if_whole
from didact.teaching.covers.elements import Elements
from didact.teaching.covers.minimum import Minimum, cheapest_cover
from didact.teaching.feedback.halfspaces import direction, item_differences, margin
from didact.teaching.segments import right_segments
from didact.teaching.witness import ExactHalfspaces

ALMOST = Fraction(999, 1000)
"""Of the way to where wrong weights would no longer be wrong: at its end they are right."""


class Chosen(NamedTuple):
    """Items that were chosen, by number, and what is known of them.

    numbers: in the order to show them. gains: how many facets and equalities each newly settles, 0
    where it only narrows what stays open. covered, recorded: what follows from the chosen, and from
    all items, as bits. lower_bound: no items from which all that is wanted follows cost less; None
    where that is not proved. left_out: would add something, but the budget is spent. redundant:
    state something true, all of which that is wanted follows from the chosen.
    """

    numbers: tuple[int, ...]
    gains: tuple[int, ...]
    covered: int
    recorded: int
    lower_bound: int | Fraction | None
    left_out: tuple[int, ...]
    redundant: tuple[int, ...]


def chosen_items(
    elements: Elements,
    items: Sequence[Item],
    budget: int | None,
    costs: Sequence[int | Fraction],
    *,
    exact: bool = False,
) -> Chosen:
    """Few of the items from which all follows that all of them imply; at most `budget`.

    exact: the cheapest of them, proved, where these are no more.
    """
    search = _ItemSearch(elements, items)
    search.choose(budget)
    search.drop()
    found = search.cheapest(costs) if exact else None
    if found is not None and budget is not None and len(found.chosen) > budget:
        found = None  # the bound is of items that are enough, and the budget's are not
    if found is not None:
        search.take_in_order(found.chosen)
    left_out = search.adding()
    used = {*search.chosen, *left_out}
    return Chosen(
        numbers=tuple(search.chosen),
        gains=tuple(search.gains),
        covered=search.covered,
        recorded=search.recorded,
        lower_bound=None if found is None else whole_if_whole(Fraction(found.lower_bound)),
        left_out=tuple(left_out),
        redundant=tuple(n for n, rows in enumerate(search.rows) if rows and n not in used),
    )


class _ItemSearch:
    """The rows that each item rightly states, and what has been chosen."""

    def __init__(self, elements: Elements, items: Sequence[Item]):
        self.known, self.elements = elements.known, elements
        self.rows = [_rows_of(self.known, item) for item in items]
        self.chosen: list[int] = []
        self.gains: list[int] = []
        self.covered = 0
        self.recorded = self._following(range(len(items)), 0)
        if self.recorded == elements.everything:
            self.wanted = [self._exact[elements.row_of(e)] for e in range(elements.n_elements)]
        else:
            self.wanted = self._said(range(len(items)))

    @property
    def _exact(self) -> tuple[Row, ...]:
        exact = self.known.rows.exact
        assert exact is not None
        return exact

    def choose(self, budget: int | None) -> None:
        """Add items until all that is wanted follows, or the budget is spent."""
        masks = [_stated(self.elements, rows) for rows in self.rows]
        while budget is None or len(self.chosen) < budget:
            shown = ExactHalfspaces(self._said(self.chosen))
            if all(map(shown.follows, self.wanted)):
                return
            left = [n for n in range(len(masks)) if n not in self.chosen]
            best = max(left, key=lambda n: ((masks[n] & ~self.covered).bit_count(), -n))
            if not masks[best] & ~self.covered:
                best = max(left, key=lambda n: (self._n_new(shown, n), -n))
            self._take(best)

    def adding(self) -> list[int]:
        """The items that say something wanted which does not follow from the chosen."""
        shown = ExactHalfspaces(self._said(self.chosen))
        if all(map(shown.follows, self.wanted)):
            return []
        others = [n for n in range(len(self.rows)) if n not in self.chosen]
        return [number for number in others if self._n_new(shown, number)]

    def cheapest(self, costs: Sequence[int | Fraction]) -> Minimum:
        """The cheapest items from which all follows that is wanted, or a lower bound."""
        complete = self.chosen if self._implied(self.chosen) == len(self.wanted) else []
        return cheapest_cover(
            len(self.rows),
            [range(len(rows)) for rows in self.rows],
            costs,
            self._gap,
            start=complete,
        )

    def _gap(self, chosen: Sequence[int]) -> set[int] | None:
        """Items of which one must be added: those that exclude weights which fit the chosen."""
        shown = ExactHalfspaces(self._said(chosen))
        for row in self.wanted:
            weights = shown.against(row)
            if weights is not None:
                moved = self._towards_truth(weights, row)
                return {
                    number
                    for number, rows in enumerate(self.rows)
                    if any(_worth(said, moved) < 0 for said in rows)
                }
        return None

    def _towards_truth(self, weights: Sequence[Fraction], row: Row) -> list[Fraction]:
        """The weights moved towards the true ones as far as they still break a row."""
        true = self.known.cone.true_weights.fractions()
        right, wrong = _worth(row, true), _worth(row, weights)
        if right:
            share = ALMOST * -wrong / right
        else:  # ties break it whatever is added: then only they do
            said = (r for rows in self.rows for r in rows if _worth(r, true))
            share = max((-_worth(r, weights) / _worth(r, true) for r in said), default=Fraction(0))
        return [x + max(share, Fraction(0)) * y for x, y in zip(weights, true, strict=True)]

    def take_in_order(self, numbers: Sequence[int]) -> None:
        """Take these items alone, those that state most that is new first."""
        masks = {number: _stated(self.elements, self.rows[number]) for number in numbers}
        self.chosen, self.gains, self.covered = [], [], 0
        while masks:
            best = max(masks, key=lambda n: ((masks[n] & ~self.covered).bit_count(), -n))
            del masks[best]
            self._take(best)

    def _take(self, number: int) -> None:
        self.chosen.append(number)
        before, self.covered = self.covered, self._following(self.chosen, self.covered)
        self.gains.append((self.covered & ~before).bit_count())

    def drop(self) -> None:
        """Leave out what the others imply; gains are then those of the order that is left."""
        implied = self._implied(self.chosen)
        for number in reversed(self.chosen[:]):
            others = [n for n in self.chosen if n != number]
            if self._implied(others) == implied:
                self.chosen = others
        kept, self.chosen, self.gains, self.covered = self.chosen, [], [], 0
        for number in kept:
            self._take(number)

    def _n_new(self, shown: ExactHalfspaces, number: int) -> int:
        """How many rows of an item do not follow from what is shown."""
        return sum(not shown.follows(row) for row in self.rows[number])

    def _implied(self, numbers: Sequence[int]) -> int:
        """How many rows that are wanted follow from items."""
        return sum(map(ExactHalfspaces(self._said(numbers)).follows, self.wanted))

    def _said(self, numbers: Sequence[int]) -> list[Row]:
        return list(dict.fromkeys(row for number in numbers for row in self.rows[number]))

    def _following(self, numbers: Sequence[int], known_to: int) -> int:
        """The elements that follow from items, as bits; known_to: do so surely."""
        shown = ExactHalfspaces(self._said(numbers))
        found = known_to
        for element in range(self.elements.n_elements):
            if not found >> element & 1:
                row = self.elements.row_of(element)
                if shown.witness_against(self.known.rows, row) is None:
                    found |= 1 << element
        return found


def _worth(row: Row, weights: Sequence[Fraction]) -> Fraction:
    return sum((x * w for x, w in zip(row, weights, strict=True)), Fraction(0))


def _rows_of(known: Known, item: Item) -> list[Row]:
    """The rows that an item rightly states; none where it is not true."""
    exact = known.rows.exact
    assert exact is not None
    if isinstance(item, Demonstration):
        right = [segment.shown for segment in right_segments(known, [item])]
        stated = known.rows.stated_by(shown_pairs(known.parts, right)).tolist()
        return [exact[row] for row in stated]
    differences = item_differences(known, item)
    if min(margin(known, difference) for difference in differences) < 0:
        return []
    return [row for row in map(direction, differences) if any(row)]


def _stated(elements: Elements, rows: Sequence[Row]) -> int:
    """The elements that rows state, as bits."""
    exact = elements.known.rows.exact
    assert exact is not None
    number_of = {row: number for number, row in enumerate(exact)}
    found = 0
    for row in rows:
        element = elements.element_of_row[number_of[row]] if row in number_of else -1
        found |= 1 << int(element) if element >= 0 else 0
    return found
