"""The cover problem of teaching: elements to cover, and what each candidate covers.

Elements are the facets of the class and, where there are equalities, the rows that span them. A
candidate covers a facet when it states a row of the facet's class; an equality row is covered when
it is stated or follows from stated ones. A set that covers all elements pins the class down
(cone(D) = C exactly when D's equality rows positively span L and D hits every facet class).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass
from didact.bec.directions import TOLERANCE
from didact.bec.farkas import Inside, decide
from didact.bec.nnls import nearest_in_cone
from didact.bec.rows import demonstrated_pairs
from didact.mdp import Demonstration
from didact.teaching.covers.candidates import Candidates

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """What a teacher gets: the class, the candidates, what they cover and what they cost.

    element_of_row: (m,) the element that a row covers, -1 for none. costs: one for each candidate.
    """

    known: EquivalenceClass
    candidates: Candidates
    element_of_row: Indices
    n_elements: int
    costs: Sequence[int | Fraction]
    budget: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def masks(self) -> dict[int, int]:
        """For each candidate that covers anything, its elements as the bits of an integer."""
        of_pair: dict[int, int] = {}
        for pair, bit in zip(*(part.tolist() for part in self.stating_pairs), strict=True):
            of_pair[pair] = of_pair.get(pair, 0) | 1 << bit
        return _masks_of_candidates(self.candidates.pairs, of_pair)

    @cached_property
    def stating_pairs(self) -> tuple[Indices, Indices]:
        """Pairs s*A + a that state an element, and the elements, one entry for each statement."""
        rows = self.known.rows
        element = np.append(self.element_of_row, -1)[rows.number]
        hit = np.flatnonzero(element >= 0)
        states, actions = rows.statements[hit, 0], rows.statements[hit, 1]
        return states * self.candidates.n_actions + actions, element[hit]

    @cached_property
    def stated(self) -> tuple[Indices, Indices]:
        """All rows that each candidate states: offsets (n + 1,) and row numbers."""
        rows = self.known.rows
        n_actions = self.candidates.n_actions
        of_pair: dict[int, list[int]] = {}
        numbers = (rows.statements[:, 0] * n_actions + rows.statements[:, 1]).tolist()
        for pair, row in zip(numbers, rows.number.tolist(), strict=True):
            if row >= 0:
                of_pair.setdefault(pair, []).append(row)
        lists = [
            sorted({r for pair in line.tolist() if pair >= 0 for r in of_pair.get(pair, ())})
            for line in self.candidates.pairs
        ]
        offsets = np.concatenate(([0], np.cumsum([len(found) for found in lists])))
        members = np.array([r for found in lists for r in found], dtype=np.int64)
        return offsets.astype(np.int64), members

    @property
    def everything(self) -> int:
        """All elements, as the bits of an integer."""
        return (1 << self.n_elements) - 1

    def closure(self, covered: int) -> int:
        """Covered elements, and the equality rows that follow from covered ones."""
        given = tuple(row for row, bit in self._bit_of_equality.items() if covered & bit)
        if len(given) in (0, len(self._bit_of_equality)):
            return covered
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

    def covered_by(self, chosen: Iterable[int]) -> int:
        """What candidates cover together, as the bits of an integer."""
        return self.closure(self.stated_by(chosen))

    def stated_by(self, chosen: Iterable[int]) -> int:
        """What candidates state themselves, without what follows from it."""
        stated = 0
        for number in chosen:
            stated |= self.masks.get(number, 0)
        return stated

    def open_row(self, covered: int) -> int:
        """The first row whose element is not covered."""
        element = self.element_of_row.tolist()
        return next(row for row, e in enumerate(element) if e >= 0 and not covered >> e & 1)

    def stated_elements(self, demonstrations: Sequence[Demonstration]) -> int:
        """The elements that demonstrations, candidates or not, state: bits of an integer."""
        pairs = demonstrated_pairs(self.known.task.mdp, demonstrations)
        covered = 0
        for element in self.element_of_row[self.known.rows.stated_by(pairs)].tolist():
            if element >= 0:
                covered |= 1 << element
        return covered


@dataclass(frozen=True)
class Picks:
    """What a teacher returns: candidate numbers in the order to show them.

    gains: not needed; `teach` counts what each pick newly covers, whatever the teacher says.
    lower_bound: no complete lesson costs less, where the teacher knows. volumes: UVM's estimates,
    before the first pick and after each.
    """

    numbers: tuple[int, ...]
    gains: tuple[int, ...] = ()
    lower_bound: int | Fraction | None = None
    volumes: tuple[float, ...] | None = None


def _masks_of_candidates(pairs: Indices, of_pair: dict[int, int]) -> dict[int, int]:
    if not of_pair:
        return {}
    useful = np.isin(pairs, np.fromiter(of_pair, dtype=np.int64))
    masks: dict[int, int] = {}
    for number, column in np.argwhere(useful).tolist():
        masks[number] = masks.get(number, 0) | of_pair[int(pairs[number, column])]
    return masks


def cover_elements(known: EquivalenceClass, *, redundant: bool = False) -> tuple[Indices, int]:
    """The element of each row, -1 for none, and their number: facets first, then equalities.

    redundant: every distinct row is an element, as without redundancy removal.
    """
    cone = known.cone
    if redundant:
        return np.arange(known.rows.n_rows), known.rows.n_rows
    element = np.full(known.rows.n_rows, -1, dtype=np.int64)
    for number, members in enumerate(cone.facets):
        element[list(members)] = number
    for number, row in enumerate(cone.equalities):
        element[row] = cone.n_facets + number
    return element, cone.n_facets + len(cone.equalities)
