"""The candidate that says soonest what another one is needed for.

Few that say just the same are looked at one by one; of many, where each of them says an element
first is found at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from didact.planning.paths import all_ranges
from didact.teaching.covers.candidates import Indices
from didact.teaching.covers.problem import Problem

FEW = 50
"""Of so many candidates each is looked at by itself."""
Line = list[int]
"""A demonstration as pairs s*A + a of the common numbering."""
Says = Mapping[int, int]
"""For each pair that says anything, what it says: the bits of an integer."""


@dataclass(frozen=True, eq=False)
class Soonest:
    """Finds candidates of a problem by what their pairs say of its elements, and when."""

    problem: Problem
    says: Says

    def of(self, own: tuple[int, Line], wanted: int, before: int, taken: Collection[int]) -> int:
        """The candidate, of those that cost and newly say the same, which has said it first.

        own: the number of one of them, and its line.
        """
        number, line = own
        problem, masks = self.problem, self.problem.masks
        end = self._end(line, wanted)
        if end == 1:
            return number
        alike = self._alike(wanted, before)
        if alike is None:
            ends = self._entries.sooner(wanted, end)
        else:
            ends = self._sooner_of(alike, wanted, end)
        for other in sorted(ends, key=lambda other: (ends[other], other)):
            if (
                other not in taken
                and problem.costs[other] == problem.costs[number]
                and masks.get(other, 0) & ~before == wanted
                and self._is_of_same_group(other, number)
            ):
                return other
        return number

    def _end(self, line: Line, wanted: int) -> int:
        """After how many steps a line says all that is wanted; one more than it has if never."""
        says = self.says
        for step, pair in enumerate(line):
            if pair in says:
                wanted &= ~says[pair]
                if not wanted:
                    return step + 1
        return len(line) + 1

    def _sooner_of(self, numbers: list[int], wanted: int, end: int) -> dict[int, int]:
        """Those of some candidates that say all that is wanted before a step, and when."""
        lines = self.problem.candidates.pairs[numbers, : end - 1].tolist()
        steps = [
            (number, self._end(line, wanted)) for number, line in zip(numbers, lines, strict=True)
        ]
        return {number: step for number, step in steps if step < end}

    def _alike(self, wanted: int, before: int) -> list[int] | None:
        """The candidates that newly say just what is wanted; None where that may be many."""
        if self._words is None:
            return None
        numbers, words = self._words
        open_bits = np.uint64(self.problem.everything & ~before)
        found = numbers[(words & open_bits) == np.uint64(wanted)]
        return found.tolist() if found.size <= FEW else None

    @cached_property
    def _words(self) -> tuple[Indices, NDArray[np.uint64]] | None:
        """The candidates that state something, and what; None for more than 64 elements."""
        masks = self.problem.masks
        if self.problem.n_elements > 64:
            return None
        numbers = np.fromiter(masks, np.int64, len(masks))
        return numbers, np.fromiter(masks.values(), np.uint64, len(masks))

    def _is_of_same_group(self, one: int, other: int) -> bool:
        groups = None if self.problem.charges is None else self.problem.charges.group_of
        return groups is None or groups[one] == groups[other]

    @cached_property
    def _entries(self) -> _Entries:
        return _Entries.of(self.problem)


@dataclass(frozen=True, eq=False)
class _Entries:
    """Where candidates say elements: those of element e are at firsts[e] to firsts[e + 1].

    candidates, steps: who says it, and after how many steps; later ones first.
    """

    n_candidates: int
    firsts: list[int]
    candidates: Indices
    steps: Indices

    @classmethod
    def of(cls, problem: Problem) -> _Entries:
        pairs, (stating, element) = problem.candidates.pairs, problem.stating_pairs
        order = np.argsort(stating, kind="stable")
        stating, element = stating[order], element[order]
        says = np.zeros(2 + max(int(pairs.max()), int(stating.max())), dtype=np.bool_)
        says[stating] = True
        places = np.flatnonzero(says[pairs])[::-1]
        shown = pairs.ravel()[places]
        low, high = (np.searchsorted(stating, shown, side) for side in ("left", "right"))
        said = element[all_ranges(low, high)]
        where = np.repeat(places, high - low)
        by_element = np.argsort(said, kind="stable")
        counts = np.bincount(said, minlength=problem.n_elements)
        rows, columns = np.divmod(where[by_element], pairs.shape[1])
        return cls(len(pairs), [0, *np.cumsum(counts).tolist()], rows, columns + 1)

    def sooner(self, wanted: int, end: int) -> dict[int, int]:
        """The candidates that say all that is wanted before that step, and after how many steps."""
        ends: dict[int, int] | None = None
        for element in range(wanted.bit_length()):
            if wanted >> element & 1:
                said = self._first_steps(element, end)
                if ends is not None:
                    said = {c: max(step, ends[c]) for c, step in said.items() if c in ends}
                ends = said
                if not ends:
                    break
        return ends or {}

    def _first_steps(self, element: int, end: int) -> dict[int, int]:
        """Who says an element before that step, and after how many steps: later ones first."""
        own = slice(self.firsts[element], self.firsts[element + 1])
        steps = self.steps[own]
        early = np.flatnonzero(steps < end)
        return dict(zip(self.candidates[own][early].tolist(), steps[early].tolist(), strict=True))
