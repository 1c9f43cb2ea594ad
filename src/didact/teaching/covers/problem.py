"""The cover problem of teaching: what a teacher gets, and what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from didact.bec.classes import Known
from didact.mdp import Demonstration
from didact.teaching.covers.candidates import Candidates
from didact.teaching.covers.charges import Charges
from didact.teaching.covers.elements import Elements, Indices


@dataclass(frozen=True, eq=False)
class Problem:
    """What a teacher gets: elements to cover, candidates, what they cover and what they cost.

    costs: one for each candidate. budget: the most that may be picked. options: the teacher's own.
    charges: what the members of a family cost besides, once each.
    given_masks: what each candidate covers, where that is known, or they are not demonstrations.
    What is said of elements is there under the same names: `known`, `element_of_row`, `n_elements`,
    `everything`, `stating_pairs`, `closure`, `follows`, `open_row`, `stated_elements`.
    """

    elements: Elements
    candidates: Candidates
    costs: Sequence[int | Fraction]
    budget: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    charges: Charges | None = None
    given_masks: Mapping[int, int] | None = None

    @cached_property
    def masks(self) -> Mapping[int, int]:
        """For each candidate that covers anything, its elements as the bits of an integer."""
        if self.given_masks is not None:
            return self.given_masks
        return self.elements.masks_of(self.candidates.pairs)

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

    def covered_by(self, chosen: Iterable[int]) -> int:
        """What candidates cover together, as the bits of an integer."""
        return self.closure(self.stated_by(chosen))

    def stated_by(self, chosen: Iterable[int]) -> int:
        """What candidates state themselves, without what follows from it."""
        stated = 0
        for number in chosen:
            stated |= self.masks.get(number, 0)
        return stated

    def cost_of(self, chosen: Iterable[int]) -> int | Fraction:
        """What candidates cost together, each member that they are of once."""
        numbers = list(chosen)
        own = sum((self.costs[number] for number in numbers), 0)
        return own if self.charges is None else own + self.charges.of(numbers)

    @property
    def known(self) -> Known:
        """The class to teach."""
        return self.elements.known

    @property
    def element_of_row(self) -> Indices:
        """(m,) the element that a row covers, -1 for none."""
        return self.elements.element_of_row

    @property
    def n_elements(self) -> int:
        """How many elements there are."""
        return self.elements.n_elements

    @property
    def everything(self) -> int:
        """All elements, as the bits of an integer."""
        return self.elements.everything

    @property
    def stating_pairs(self) -> tuple[Indices, Indices]:
        """Pairs s*A + a that state an element, and the elements, one entry for each statement."""
        return self.elements.stating_pairs

    def closure(self, covered: int) -> int:
        """Covered elements, and the equality rows that follow from covered ones."""
        return self.elements.closure(covered)

    def follows(self, given: list[int], row: int) -> bool:
        """Whether a row is a consequence of given ones."""
        return self.elements.follows(given, row)

    def open_row(self, covered: int) -> int:
        """The first row whose element is not covered."""
        return self.elements.open_row(covered)

    def stated_elements(self, demonstrations: Sequence[Demonstration]) -> int:
        """The elements that demonstrations, candidates or not, state: bits of an integer."""
        return self.elements.stated_elements(demonstrations)


@dataclass(frozen=True)
class Picks:
    """What a teacher returns: candidate numbers in the order to show them.

    gains: not needed; `teach` counts what each pick newly covers, whatever the teacher says.
    lower_bound: no complete lesson costs less, where the teacher knows. volumes: UVM's estimates,
    before the first pick and after each. certificate: of the bound, over all allowed walks.
    """

    numbers: tuple[int, ...]
    gains: tuple[int, ...] = ()
    lower_bound: int | Fraction | None = None
    volumes: tuple[float, ...] | None = None
    certificate: Any = None
