"""What a class asks to be covered: its facets and, where there are equalities, rows that span them.

Demonstrations cover a facet when they state a row of the facet's class; an equality row is covered
when it is stated or follows from stated ones. What covers all elements pins the class down
(cone(D) = C exactly when D's equality rows positively span L and D hits every facet class).

Sets of elements are the bits of integers. `Coverage` is what demonstrations cover one after the
other: gains, who is first, and what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, most_actions, shown_pairs
from didact.bec.directions import TOLERANCE
from didact.bec.farkas import Inside, decide
from didact.bec.nnls import nearest_in_cone
from didact.mdp import Demonstration

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]
_WORD = 2**64 - 1


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements to cover, and what rows, pairs and demonstrations say of them.

    element_of_row: (m,) the element that a row covers, -1 for none.
    """

    known: EquivalenceClass
    element_of_row: Indices
    n_elements: int

    @property
    def class_of_task(self) -> EquivalenceClass:
        """The class, where it is of a task."""
        if self.known.is_family:
            raise AssertionError("this is of one task, not of a family")
        return self.known

    @property
    def everything(self) -> int:
        """All elements."""
        return (1 << self.n_elements) - 1

    @cached_property
    def stating_pairs(self) -> tuple[Indices, Indices]:
        """Pairs s*A + a that state an element, and the elements, one entry for each statement."""
        rows = self.known.rows
        element = np.append(self.element_of_row, -1)[rows.number]
        hit = (element >= 0).nonzero()[0]
        states, actions = rows.statements[hit, 0], rows.statements[hit, 1]
        return states * most_actions(self.known.parts) + actions, element[hit]

    @cached_property
    def coverage_of_pair(self) -> Mapping[int, int]:
        """For each pair s*A + a that states any element, which: the bits of an integer."""
        said: dict[int, int] = {}
        for pair, bit in zip(*(part.tolist() for part in self.stating_pairs), strict=True):
            said[pair] = said.get(pair, 0) | 1 << bit
        return said

    def masks_of(self, pairs: Indices) -> dict[int, int]:
        """What each line of pairs s*A + a states, by its number; lines end with -1 where short.

        Lines that state nothing are left out.
        """
        parts = self.known.parts
        n_states = parts[-1].first + parts[-1].task.mdp.n_states
        return stated_by_lines(pairs, self.coverage_of_pair, n_states * most_actions(parts))

    def pairs_for(self, elements: int) -> list[int]:
        """All pairs that state one of the elements, as s*A + a, ascending."""
        stating, element = self.stating_pairs
        pairs: list[int] = np.unique(
            stating[np.isin(element, list(self.within(elements)))]
        ).tolist()
        return pairs

    def within(self, elements: int) -> Iterable[int]:
        """The numbers of the elements in a set, ascending."""
        return (number for number in range(self.n_elements) if elements >> number & 1)

    def row_of(self, element: int) -> int:
        """The first row that covers an element."""
        return int(np.argmax(self.element_of_row == element))

    def open_row(self, covered: int) -> int:
        """The first row whose element is not covered."""
        element = self.element_of_row.tolist()
        return next(row for row, e in enumerate(element) if e >= 0 and not covered >> e & 1)

    def stated_elements(self, demonstrations: Sequence[Demonstration]) -> int:
        """The elements that demonstrations state, without what follows from them."""
        pairs = shown_pairs(self.known.parts, demonstrations)
        covered = 0
        for element in self.element_of_row[self.known.rows.stated_by(pairs)].tolist():
            if element >= 0:
                covered |= 1 << element
        return covered

    def closure(self, covered: int) -> int:
        """Covered elements, and the equality rows that follow from covered ones."""
        if covered & self._equality_bits in (0, self._equality_bits):
            return covered
        given = tuple(row for row, bit in self._bit_of_equality.items() if covered & bit)
        if given not in self._implied:
            self._implied[given] = sum(
                bit
                for row, bit in self._bit_of_equality.items()
                if row not in given and self.follows(list(given), row)
            )
        return covered | self._implied[given]

    @cached_property
    def _bit_of_equality(self) -> dict[int, int]:
        return {row: 1 << int(self.element_of_row[row]) for row in self.known.cone.equalities}

    @cached_property
    def _equality_bits(self) -> int:
        return sum(self._bit_of_equality.values())

    @cached_property
    def _implied(self) -> dict[tuple[int, ...], int]:
        """For equality rows already asked about, the others that follow from them."""
        return {}

    def follows(self, given: list[int], row: int) -> bool:
        """Whether a row is a consequence of given ones."""
        rows = self.known.rows
        if rows.exact is not None:
            return isinstance(decide([rows.exact[g] for g in given], rows.exact[row]), Inside)
        nearest = nearest_in_cone(rows.balanced[given], rows.balanced[row])
        return bool(nearest.converged and nearest.distance <= TOLERANCE)


def cover_elements(known: EquivalenceClass, *, redundant: bool = False) -> Elements:
    """The elements of a class: facets first, then equalities.

    redundant: every distinct row is an element, as without redundancy removal.
    """
    cone, n_rows = known.cone, known.rows.n_rows
    if redundant:
        return Elements(known, np.arange(n_rows), n_rows)
    element = np.full(n_rows, -1, dtype=np.int64)
    numbers = [number for number, members in enumerate(cone.facets) for _ in members]
    element[[row for members in cone.facets for row in members]] = numbers
    element[list(cone.equalities)] = cone.n_facets + np.arange(len(cone.equalities))
    return Elements(known, element, cone.n_facets + len(cone.equalities))


def stated_by_lines(pairs: Indices, coverage: Mapping[int, int], n_pairs: int) -> dict[int, int]:
    """What each line states, by its number: 64 elements at a time, one word for each pair."""
    if not (coverage and pairs.size):
        return {}
    stating = np.fromiter(coverage, np.int64, len(coverage))
    masks: dict[int, int] = {}
    n_elements = max(coverage.values()).bit_length()
    for first in range(0, n_elements, 64):
        words = np.zeros(n_pairs + 1, dtype=np.uint64)  # the last is of -1, where nothing is shown
        own = (
            coverage.values()
            if n_elements <= 64
            else (s >> first & _WORD for s in coverage.values())
        )
        words[stating] = np.fromiter(own, np.uint64, len(coverage))
        shown = np.bitwise_or.reduce(words[pairs.T])
        numbers = shown.nonzero()[0]
        stated = zip(numbers.tolist(), shown[numbers].tolist(), strict=True)
        if not first:
            masks = dict(stated)
            continue
        for number, word in stated:
            masks[number] = masks.get(number, 0) | word << first
    return masks if n_elements <= 64 else dict(sorted(masks.items()))


@dataclass(frozen=True, eq=False)
class Coverage:
    """Elements, and those that the first 0, 1, 2, ... demonstrations cover, as bits."""

    elements: Elements
    after: tuple[int, ...]

    @classmethod
    def of(cls, elements: Elements, stated: Iterable[int]) -> Coverage:
        """The coverage by demonstrations that state these elements, in that order."""
        walk = accumulate(stated, lambda covered, new: elements.closure(covered | new), initial=0)
        return cls(elements, tuple(walk))

    @property
    def covered(self) -> int:
        """What all demonstrations cover."""
        return self.after[-1]

    @property
    def is_complete(self) -> bool:
        """Whether everything is covered."""
        return self.covered == self.elements.everything

    @property
    def gains(self) -> tuple[int, ...]:
        """How many elements each demonstration newly covers."""
        return tuple((now & ~before).bit_count() for before, now in pairwise(self.after))

    def first_to_cover(self, element: int) -> int | None:
        """The first demonstration after which an element is covered; None where none is."""
        return next((n - 1 for n, bits in enumerate(self.after) if bits >> element & 1), None)
