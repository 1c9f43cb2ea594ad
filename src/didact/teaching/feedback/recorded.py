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

from didact.bec.classes import EquivalenceClass, shown_pairs
from didact.bec.linear import Row
from didact.mdp import Demonstration
from didact.mdp.items import Item
from didact.teaching.covers.problem import Elements
from didact.teaching.covers.set_cover import Minimum, cheapest_cover
from didact.teaching.feedback.halfspaces import right_segments, true_halfspaces
from didact.teaching.witness import ExactHalfspaces

ALMOST = Fraction(999, 1000)
"""Of the way to where wrong weights would no longer be wrong: at its end they are right."""


def chosen_items(
    elements: Elements,
    items: Sequence[Item],
    budget: int | None,
    costs: Sequence[int | Fraction],
    *,
    exact: bool = False,
) -> ItemSearch:
    """Few of the items from which all follows that all of them imply; at most `budget`.

    exact: the cheapest of them, proved, where these are no more.
    """
    search = ItemSearch(elements, items)
    search.choose(budget)
    search.drop()
    found = search.cheapest(costs) if exact else None
    # With more of them than the budget, the bound is of items that are enough: not of these.
    if found is not None and (budget is None or len(found.chosen) <= budget):
        search.take_in_order(found.chosen)
        search.lower_bound = found.lower_bound
    return search


class ItemSearch:
    """The normals that each item rightly states, what is wanted, and what has been chosen.

    wanted: rows that must follow from the chosen: the facets and equalities of the class where all
    items together imply these, else everything that any item rightly states. chosen: numbers of
    items in the order to show them. gains: how many facets and equalities each newly settles, 0
    where it only narrows what stays open. covered, recorded: what follows from the chosen, and from
    all items, as bits. lower_bound: no items from which all that is wanted follows cost less; None
    where that is not proved.
    """

    lower_bound: int | Fraction | None = None

    def __init__(self, elements: Elements, items: Sequence[Item]):
        exact = elements.bec.rows.exact
        assert exact is not None
        self.elements = elements
        self.true_weights = elements.bec.cone.true_weights.fractions()
        self.class_rows = [exact[elements.row_of(e)] for e in range(elements.n_elements)]
        self.rows = [_rows_of(elements.bec, item) for item in items]
        number_of = {row: number for number, row in enumerate(exact)}
        # The elements that the rows of each item state, as bits; rows outside of the class none.
        numbers = ([number_of[row] for row in rows if row in number_of] for rows in self.rows)
        stated = (elements.element_of_row[own].tolist() for own in numbers)
        self.coverage = [sum(1 << e for e in {*own} if e >= 0) for own in stated]
        self.chosen: list[int] = []
        self.gains: list[int] = []
        self.covered = 0
        everyone = range(len(items))
        self.recorded = self._following(everyone, 0)
        is_taught = self.recorded == elements.everything
        self.wanted = self.class_rows if is_taught else self._stated(everyone)

    def choose(self, budget: int | None) -> None:
        """Add items until all that is wanted follows, or the budget is spent."""
        while budget is None or len(self.chosen) < budget:
            stated = ExactHalfspaces(self._stated(self.chosen))
            if all(map(stated.follows, self.wanted)):
                return
            left = [n for n in range(len(self.rows)) if n not in self.chosen]
            best = self._most_new(left)
            if not self.coverage[best] & ~self.covered:
                best = max(left, key=lambda n: (self._n_new(stated, n), -n))
            self._take(best)

    def drop(self) -> None:
        """Leave out what the others imply; gains are then those of the order that is left."""
        implied = self._n_implied(self.chosen)
        for number in reversed(self.chosen[:]):
            others = [n for n in self.chosen if n != number]
            if self._n_implied(others) == implied:
                self.chosen = others
        kept = self.chosen
        self._clear()
        for number in kept:
            self._take(number)

    def adding(self) -> list[int]:
        """The items that state something wanted which does not follow: the budget is spent."""
        stated = ExactHalfspaces(self._stated(self.chosen))
        if all(map(stated.follows, self.wanted)):
            return []
        others = [n for n in range(len(self.rows)) if n not in self.chosen]
        return [number for number in others if self._n_new(stated, number)]

    def cheapest(self, costs: Sequence[int | Fraction]) -> Minimum:
        """The cheapest items from which all follows that is wanted, or a lower bound."""
        complete = self.chosen if self._n_implied(self.chosen) == len(self.wanted) else []
        return cheapest_cover(
            [range(len(rows)) for rows in self.rows],
            costs,
            self._gap,
            start=complete,
        )

    def take_in_order(self, numbers: Sequence[int]) -> None:
        """Take these items alone, those that state most that is new first."""
        left = list(numbers)
        self._clear()
        while left:
            best = self._most_new(left)
            left.remove(best)
            self._take(best)

    def _gap(self, chosen: Sequence[int]) -> set[int] | None:
        """Items of which one must be added: those that exclude weights which fit the chosen."""
        stated = ExactHalfspaces(self._stated(chosen))
        for row in self.wanted:
            weights = stated.against(row)
            if weights is not None:
                moved = self._towards_truth(weights, row)
                return {
                    number
                    for number, rows in enumerate(self.rows)
                    if any(_worth(normal, moved) < 0 for normal in rows)
                }
        return None

    def _towards_truth(self, weights: Sequence[Fraction], row: Row) -> list[Fraction]:
        """The weights moved towards the true ones as far as they still break a row."""
        true = self.true_weights
        right, wrong = _worth(row, true), _worth(row, weights)
        if right:
            share = ALMOST * -wrong / right
        else:  # ties break it whatever is added: then only they do
            strict = [normal for rows in self.rows for normal in rows if _worth(normal, true)]
            shares = (-_worth(normal, weights) / _worth(normal, true) for normal in strict)
            share = max(shares, default=Fraction(0))
        return [x + max(share, Fraction(0)) * y for x, y in zip(weights, true, strict=True)]

    def _most_new(self, numbers: Sequence[int]) -> int:
        """The item that states most elements which do not follow yet; of equal ones the first."""
        return max(numbers, key=lambda n: ((self.coverage[n] & ~self.covered).bit_count(), -n))

    def _clear(self) -> None:
        self.chosen, self.gains, self.covered = [], [], 0

    def _take(self, number: int) -> None:
        self.chosen.append(number)
        before, self.covered = self.covered, self._following(self.chosen, self.covered)
        self.gains.append((self.covered & ~before).bit_count())

    def _n_new(self, stated: ExactHalfspaces, number: int) -> int:
        """How many normals of an item do not follow from what is stated."""
        return sum(not stated.follows(row) for row in self.rows[number])

    def _n_implied(self, numbers: Sequence[int]) -> int:
        """How many rows that are wanted follow from items."""
        return sum(map(ExactHalfspaces(self._stated(numbers)).follows, self.wanted))

    def _stated(self, numbers: Sequence[int]) -> list[Row]:
        return list(dict.fromkeys(row for number in numbers for row in self.rows[number]))

    def _following(self, numbers: Sequence[int], known_to: int) -> int:
        """The elements that follow from items, as bits; known_to: do so surely."""
        stated = ExactHalfspaces(self._stated(numbers))
        new = (e for e in range(len(self.class_rows)) if not known_to >> e & 1)
        return known_to | sum(1 << e for e in new if stated.follows(self.class_rows[e]))


def _worth(row: Row, weights: Sequence[Fraction]) -> Fraction:
    return sum((x * w for x, w in zip(row, weights, strict=True)), Fraction(0))


def _rows_of(bec: EquivalenceClass, item: Item) -> list[Row]:
    """The normals that an item rightly states; none where it is not true."""
    exact = bec.rows.exact
    assert exact is not None
    if isinstance(item, Demonstration):
        right = [segment.shown for segment in right_segments(bec, [item])]
        stated = bec.rows.stated_by(shown_pairs(bec.members, right)).tolist()
        return [exact[row] for row in stated]
    return [row for row in true_halfspaces(bec, [item])[0] if any(row)]
